import { type Clock, LockRequestError, type LockWatch, type Logger, type PresentLease } from '@tenure/core'
import { errorOf, type LeaseHolder } from '@tenure/core/internal'
import type { ApiRequest } from '../../client/api-request.ts'
import { target } from '../../client/object-requests.ts'
import { objectPath, type ObjectReference } from '../../client/resource.ts'
import { isJsonObject, objectAt, stringAt, type JsonObject } from '../../json-object.ts'
import { pause } from '../../reflector/pause.ts'
import { type ContainerRef, parseContainerRef } from '../death/container-ref.ts'
import { hasTerminated } from '../death/container-status.ts'
import type { PodDeathProof } from '../death/pod-death-proof.ts'
import type { LeaseClient } from '../lease/lease-client.ts'
import type { ObjectLock } from '../lease/object-lock.ts'
import { isOnLostNode, podEnd, type PodEnd } from './ended-pod.ts'
import { ownerOf, type PodOwner } from './life-config-map.ts'
import type { OwnPod } from './own-pod.ts'
import type { PodNodes } from './pod-nodes.ts'

/** How to watch the Pod of a holder. */
export interface OwnerWatchOptions {
  readonly client: LeaseClient
  /** The ConfigMap. */
  readonly reference: ObjectReference
  readonly lock: ObjectLock
  readonly pod: OwnPod
  readonly proof: PodDeathProof
  readonly nodes: PodNodes
  /** Times attempts that failed, and Pods that terminate. */
  readonly clock: Clock
  /** Hears of a ConfigMap that was deleted, or could not be. */
  readonly logger: Logger
}

/** Longer than for leases, because a Pod rarely changes. */
const SILENCE_MS = 10_000

/** The pause after a deletion that failed, or that must not happen yet. */
const RETRY_MS = 2000

/** How often a follower looks at the node of the holder. */
const NODE_MS = 5000

const TEXTS = {
  ended: 'The Pod of the holder has ended',
  'node-not-ready': 'The node of the holder is not ready',
  terminating: 'The Pod of the holder was deleted, and its node has not reported its end in time',
} as const

/** Why the ConfigMap may be deleted, and how long this replica waits before it looks again, in milliseconds; 0: now. */
interface Plan {
  readonly reason: keyof typeof TEXTS
  readonly delayMs: number
}

/**
 * Watches the Pod of one holder. Deletes the ConfigMap of this very holder, at the version that was read, when there is a reason to free it.
 * Its next leader waits.
 */
export class OwnerWatch implements LockWatch {
  readonly #options: OwnerWatchOptions
  readonly #holder: LeaseHolder
  readonly #owner: PodOwner
  /** Whether the holder stops by itself when its ConfigMap is deleted. A leader of operator-lib, whose record has no duration, does not. */
  readonly #stopsByItself: boolean
  readonly #closing = new AbortController()
  readonly #subscription: LockWatch
  /** Ends the present pause early. */
  #pausing = new AbortController()
  #pod: JsonObject | undefined
  /** When the Pod was first seen to terminate, on the monotonic clock. */
  #terminatingSince: number | undefined
  #freeing: Promise<void> | undefined

  constructor(options: OwnerWatchOptions, holder: LeaseHolder, lease: PresentLease) {
    this.#options = options
    this.#holder = holder
    this.#owner = ownerOf(nativeOf(lease))
    this.#stopsByItself = lease.record.leaseDurationSeconds !== undefined
    const { client, reference } = options
    this.#subscription = client.watch(
      { group: '', version: 'v1', resource: 'pods', name: this.#owner.name, namespace: reference.namespace },
      {
        silenceMs: SILENCE_MS,
        observer: {
          changed: (seen) => this.#look(seen.kind === 'present' && isJsonObject(seen.object) ? seen.object : undefined),
          up: () => {},
          down: () => {},
        },
      },
    )
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.#pausing.abort()
    await Promise.all([this.#subscription.close(), this.#freeing])
  }

  #look(pod: JsonObject | undefined): void {
    this.#pod = pod
    if (pod !== undefined && stringAt(objectAt(pod, 'metadata'), 'deletionTimestamp') !== undefined) {
      this.#terminatingSince ??= this.#options.clock.now()
    }
    this.#pausing.abort()
    this.#freeing ??= this.#freeInTime(this.#closing.signal).finally(() => (this.#freeing = undefined))
  }

  /** Deletes the ConfigMap once there is a reason. Tries again until that succeeds, or the Pod says otherwise. */
  async #freeInTime(signal: AbortSignal): Promise<void> {
    const { logger } = this.#options
    let told: Plan['reason'] | undefined
    for (let failed = false; !signal.aborted;) {
      try {
        const looked = this.#pod
        const plan = await this.#plan(signal)
        // What the Pod said while the plan was made started nothing.
        if (plan === undefined && this.#pod === looked) return
        if (plan === undefined) continue
        const { reason, delayMs } = plan
        if (delayMs > 0) {
          await this.#pause(delayMs)
          continue
        }
        // Before the deletion: this watch may be closed by the news of it, before the answer comes.
        if (told !== reason) this.#logEnd(reason)
        told = reason
        return await this.#free(signal)
      } catch (cause) {
        const err = errorOf(cause)
        if (signal.aborted) return
        if (!failed) logger.warn({ event: 'holder-not-freed', holder: this.#holder.identity, err }, err.message)
        failed = true
        await this.#pause(RETRY_MS)
      }
    }
  }

  #logEnd(reason: Plan['reason']): void {
    const { logger, lock } = this.#options
    logger.info(
      { event: 'holder-ended', holder: this.#holder.identity, pod: this.#owner.name, reason },
      `${TEXTS[reason]}: ${lock.description} is deleted, and its next leader waits before it acts`,
    )
  }

  /** Undefined if only a change of the Pod can give a reason. */
  async #plan(signal: AbortSignal): Promise<Plan | undefined> {
    const { pod } = this.#options
    if (this.#owner.name === pod.name) await pod.find(signal)
    // After the wait: a Pod that changes during it would be missed.
    const seen = this.#pod
    if (seen === undefined || stringAt(objectAt(seen, 'metadata'), 'uid') !== this.#owner.uid) return undefined
    const ref = parseContainerRef(this.#holder.processRef)
    if (ref !== undefined && hasTerminated(seen, ref)) return undefined
    const end = this.#end(seen, ref)
    if (end?.kind === 'ended') return { reason: 'ended', delayMs: 0 }
    return this.#stopsByItself ? await this.#planForLost(seen, this.#dueIn(end), signal) : undefined
  }

  /** The plan for a Pod that may still run. */
  async #planForLost(seen: JsonObject, dueMs: number, signal: AbortSignal): Promise<Plan | undefined> {
    const { pod, nodes } = this.#options
    if (dueMs > 0 && (await this.#isLost(seen, signal))) {
      // Two replicas on lost nodes would take the lease from each other again and again.
      const isLostToo = await this.#isLost(await pod.read(signal), signal)
      return { reason: 'node-not-ready', delayMs: isLostToo ? Math.min(RETRY_MS, dueMs) : 0 }
    }
    const delayMs = Math.min(dueMs, nodes.canRead(seen) ? NODE_MS : Infinity)
    return delayMs === Infinity ? undefined : { reason: 'terminating', delayMs }
  }

  #end(pod: JsonObject, ref: ContainerRef | undefined): PodEnd | undefined {
    const { proof } = this.#options
    const self = {
      podUid: this.#options.pod.uid,
      ref: proof.processRef === undefined ? undefined : parseContainerRef(proof.processRef),
      startedAt: performance.timeOrigin,
    }
    return podEnd(pod, { ref, acquireTime: this.#holder.acquireTime, self })
  }

  /** In how many milliseconds the end of a Pod that terminates is overdue; infinite for a Pod that does not. */
  #dueIn(end: PodEnd | undefined): number {
    if (end?.kind !== 'terminating') return Infinity
    const now = this.#options.clock.now()
    return Math.max((this.#terminatingSince ?? now) + end.dueMs - now, 0)
  }

  async #isLost(pod: JsonObject, signal: AbortSignal): Promise<boolean> {
    return isOnLostNode(pod) || (await this.#options.nodes.isNotReady(pod, signal))
  }

  async #pause(delayMs: number): Promise<void> {
    if (this.#closing.signal.aborted) return
    this.#pausing = new AbortController()
    await pause(delayMs, this.#options.clock, this.#pausing.signal)
  }

  /** Deletes the ConfigMap of this holder. Does nothing if it is gone, or of another holder. */
  async #free(signal: AbortSignal): Promise<void> {
    const { lock, client, reference } = this.#options
    const lease = await lock.get({ signal })
    if (lease.kind === 'absent' || !isOf(this.#holder, lease)) return
    const uid = stringAt(objectAt(nativeOf(lease), 'metadata'), 'uid')
    const request: ApiRequest = {
      method: 'DELETE',
      path: objectPath(reference),
      body: { preconditions: { uid, resourceVersion: String(lease.version) } },
      target: target('delete', reference),
      signal,
    }
    await client.transport.send(request).catch((error: unknown) => {
      if (!(error instanceof LockRequestError && error.failure === 'not-found')) throw error
    })
  }
}

/** Whether a lease is of this term of this holder. */
export function isOf(holder: LeaseHolder, { record }: PresentLease): boolean {
  return record.holderIdentity === holder.identity && record.acquireTime === holder.acquireTime
}

/** The ConfigMap itself. */
function nativeOf({ native }: PresentLease): JsonObject {
  return isJsonObject(native) ? native : {}
}
