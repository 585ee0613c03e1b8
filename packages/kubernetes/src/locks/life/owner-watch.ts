import { type Clock, LockRequestError, type LockWatch, type Logger, type PresentLease } from '@tenure/core'
import { errorOf, type LeaseHolder } from '@tenure/core/internal'
import type { ApiRequest } from '../../client/api-request.ts'
import { target } from '../../client/object-requests.ts'
import { objectPath, type ObjectReference } from '../../client/resource.ts'
import { isJsonObject, objectAt, stringAt, type JsonObject } from '../../json-object.ts'
import { pause } from '../../reflector/pause.ts'
import { parseContainerRef } from '../death/container-ref.ts'
import { hasTerminated } from '../death/container-status.ts'
import type { PodDeathProof } from '../death/pod-death-proof.ts'
import type { LeaseClient } from '../lease/lease-client.ts'
import type { ObjectLock } from '../lease/object-lock.ts'
import { isOnLostNode, reasonToFree, type ReasonToFree } from './ended-pod.ts'
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

const TEXTS: Readonly<Record<ReasonToFree['kind'], string>> = {
  ended: 'The Pod of the holder has ended',
  'node-not-ready': 'The node of the holder is not ready',
  terminating: 'The Pod of the holder was deleted, and its node has not reported its end in time',
}

/**
 * Watches the Pod of one holder. Deletes the ConfigMap of this very holder, at the version that was read, when there is a reason to free it.
 * Its next leader waits.
 */
export class OwnerWatch implements LockWatch {
  readonly #options: OwnerWatchOptions
  readonly #holder: LeaseHolder
  readonly #owner: PodOwner
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
    const { logger, lock } = this.#options
    for (let failed = false; !signal.aborted;) {
      try {
        const reason = await this.#reason(signal)
        const delayMs = await this.#delayMs(reason, signal)
        if (reason === undefined || delayMs > 0) {
          if (delayMs === Infinity) return
          await this.#pause(delayMs)
          continue
        }
        await this.#free(signal)
        return logger.info(
          { event: 'holder-ended', holder: this.#holder.identity, pod: this.#owner.name, reason: reason.kind },
          `${TEXTS[reason.kind]}: ${lock.description} was deleted, and its next leader waits before it acts`,
        )
      } catch (cause) {
        const err = errorOf(cause)
        if (signal.aborted) return
        if (!failed) logger.warn({ event: 'holder-not-freed', holder: this.#holder.identity, err }, err.message)
        failed = true
        await this.#pause(RETRY_MS)
      }
    }
  }

  async #reason(signal: AbortSignal): Promise<ReasonToFree | undefined> {
    const { pod, proof, nodes } = this.#options
    if (this.#owner.name === pod.name) await pod.find(signal)
    // After the wait: a Pod that changes during it would be missed.
    const seen = this.#pod
    const ref = parseContainerRef(this.#holder.processRef)
    if (seen === undefined || (ref !== undefined && hasTerminated(seen, ref))) return undefined
    const self = {
      podUid: pod.uid,
      ref: proof.processRef === undefined ? undefined : parseContainerRef(proof.processRef),
      startedAt: performance.timeOrigin,
    }
    const { acquireTime } = this.#holder
    const reason = reasonToFree(seen, { owner: this.#owner, ref, acquireTime, self })
    if (reason?.kind === 'ended' || !isPod(this.#owner, seen)) return reason
    return (await nodes.isNotReady(seen, signal)) ? { kind: 'node-not-ready' } : reason
  }

  /**
   * How long this replica waits before it looks again, in milliseconds: 0 if the ConfigMap may be deleted now, infinite if only a change of the
   * Pod can make a difference.
   */
  async #delayMs(reason: ReasonToFree | undefined, signal: AbortSignal): Promise<number> {
    const { pod, clock, nodes } = this.#options
    const lookAgainMs = this.#pod !== undefined && nodes.canRead(this.#pod) ? NODE_MS : Infinity
    switch (reason?.kind) {
      case undefined:
        return lookAgainMs
      case 'ended':
        return 0
      case 'node-not-ready': {
        // Two replicas on lost nodes would take the lease from each other again and again.
        const own = await pod.confirm(signal)
        return isOnLostNode(own) || (await nodes.isNotReady(own, signal)) ? RETRY_MS : 0
      }
      case 'terminating': {
        const since = this.#terminatingSince ?? clock.now()
        return Math.min(Math.max(since + reason.dueMs - clock.now(), 0), lookAgainMs)
      }
      default:
        return reason satisfies never
    }
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

function isPod({ uid }: PodOwner, pod: JsonObject): boolean {
  return stringAt(objectAt(pod, 'metadata'), 'uid') === uid
}

/** The ConfigMap itself. */
function nativeOf({ native }: PresentLease): JsonObject {
  return isJsonObject(native) ? native : {}
}
