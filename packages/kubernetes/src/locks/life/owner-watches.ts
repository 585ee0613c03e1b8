import { type Clock, LockRequestError, type LockWatch, type Logger, type PresentLease } from '@tenure/core'
import { errorOf, type HolderObserver, type LeaseHolder, silentLogger, systemClock } from '@tenure/core/internal'
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
import { hasMostLikelyEnded } from './ended-pod.ts'
import { ownerOf, type PodOwner } from './life-config-map.ts'
import type { OwnPod } from './own-pod.ts'

/** How to watch the Pods of holders. */
export interface OwnerWatchesOptions {
  readonly client: LeaseClient
  /** The ConfigMap. */
  readonly reference: ObjectReference
  readonly lock: ObjectLock
  readonly pod: OwnPod
  readonly proof: PodDeathProof
  /** Times attempts that failed. @default the clock of this machine */
  readonly clock?: Clock | undefined
  /** Hears of a ConfigMap that was deleted, or could not be. @default a logger that drops every line */
  readonly logger?: Logger | undefined
}

/** Longer than for leases, because a Pod rarely changes. */
const SILENCE_MS = 10_000

/** The pause after a deletion that failed. */
const RETRY_MS = 2000

/**
 * Follows the Pods of holders.
 *
 * 1. The proof of a death comes from the container of the holder alone, as for a Lease.
 * 2. If a holder has only most likely ended, the ConfigMap of this very holder is deleted, at the version that was read, and nothing
 *    else. Its next leader waits.
 */
export class OwnerWatches {
  readonly #options: OwnerWatchesOptions
  readonly #running = new Set<LockWatch>()
  #seen: PresentLease | undefined

  constructor(options: OwnerWatchesOptions) {
    this.#options = options
  }

  /** Takes in the ConfigMap as it was last seen. */
  see(lease: PresentLease): void {
    this.#seen = lease
  }

  /** Watches the Pod of a holder that was seen, until the returned handle is closed. */
  watch(holder: LeaseHolder, observer: HolderObserver): LockWatch {
    const proof = this.#options.proof.watchHolder(holder, observer)
    const owner = this.#watchOwner(holder)
    const watch: LockWatch = {
      close: async () => {
        this.#running.delete(watch)
        await Promise.all([proof.close(), owner?.close()])
      },
    }
    this.#running.add(watch)
    return watch
  }

  /** Closes all watches. Resolves when they have ended. */
  async close(): Promise<void> {
    await Promise.all([...this.#running].map((watch) => watch.close()))
  }

  #watchOwner(holder: LeaseHolder): LockWatch | undefined {
    const lease = this.#seen
    if (lease === undefined || !isOf(holder, lease)) return undefined
    const owner = ownerOf(nativeOf(lease))
    const { client, reference } = this.#options
    const closing = new AbortController()
    let latest: JsonObject | undefined
    let freeing: Promise<void> | undefined
    const subscription = client.watch(
      { group: '', version: 'v1', resource: 'pods', name: owner.name, namespace: reference.namespace },
      {
        silenceMs: SILENCE_MS,
        observer: {
          changed: (seen) => {
            latest = seen.kind === 'present' && isJsonObject(seen.object) ? seen.object : undefined
            freeing ??= this.#freeWhileEnded({ holder, owner }, () => latest, closing.signal).finally(
              () => (freeing = undefined),
            )
          },
          up: () => {},
          down: () => {},
        },
      },
    )
    return {
      close: async () => {
        closing.abort()
        await Promise.all([subscription.close(), freeing])
      },
    }
  }

  /** Deletes the ConfigMap if its holder has most likely ended. Tries again until that succeeds, or the Pod says otherwise. */
  async #freeWhileEnded(held: Held, pod: () => JsonObject | undefined, signal: AbortSignal): Promise<void> {
    const { clock = systemClock, logger = silentLogger, lock } = this.#options
    for (let failed = false; !signal.aborted; failed = true) {
      try {
        if (!(await this.#hasEnded(held, pod(), signal))) return
        await this.#free(held.holder, signal)
        return logger.info(
          { event: 'holder-ended', holder: held.holder.identity, pod: held.owner.name },
          `The Pod of the holder has ended: ${lock.description} was deleted, and its next leader waits before it acts`,
        )
      } catch (cause) {
        const err = errorOf(cause)
        if (signal.aborted) return
        if (!failed) logger.warn({ event: 'holder-not-freed', holder: held.holder.identity, err }, err.message)
        await pause(RETRY_MS, clock, signal)
      }
    }
  }

  async #hasEnded({ holder, owner }: Held, seen: JsonObject | undefined, signal: AbortSignal): Promise<boolean> {
    const { pod, proof } = this.#options
    const ref = parseContainerRef(holder.processRef)
    if (seen === undefined || (ref !== undefined && hasTerminated(seen, ref))) return false
    if (owner.name === pod.name) await pod.find(signal)
    const self = {
      podUid: pod.uid,
      ref: proof.processRef === undefined ? undefined : parseContainerRef(proof.processRef),
      startedAt: performance.timeOrigin,
    }
    return hasMostLikelyEnded(seen, { owner, ref, acquireTime: holder.acquireTime, self })
  }

  /** Deletes the ConfigMap of this holder. Does nothing if it is gone, or of another holder. */
  async #free(holder: LeaseHolder, signal: AbortSignal): Promise<void> {
    const { lock, client, reference } = this.#options
    const lease = await lock.get({ signal })
    if (lease.kind === 'absent' || !isOf(holder, lease)) return
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

interface Held {
  readonly holder: LeaseHolder
  readonly owner: PodOwner
}

function isOf(holder: LeaseHolder, { record }: PresentLease): boolean {
  return record.holderIdentity === holder.identity && record.acquireTime === holder.acquireTime
}

/** The ConfigMap itself. */
function nativeOf({ native }: PresentLease): JsonObject {
  return isJsonObject(native) ? native : {}
}
