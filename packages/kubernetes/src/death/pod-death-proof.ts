import { silentLogger, type HolderObserver, type LeaseHolder, type LockWatch, type Logger } from '@tenure/core'
import type { LeaseClient } from '../lease/lease-client.ts'
import { isJsonObject } from '../transport/json-object.ts'
import type { Resource } from '../transport/resource.ts'
import type { ObjectSubscription } from '../watch/namespace-watches.ts'
import { formatContainerRef, parseContainerRef } from './container-ref.ts'
import { containerOf, hasTerminated } from './container-status.ts'
import type { DeathProof } from './death-proof.ts'

const PODS: Resource = { group: '', version: 'v1', resource: 'pods' }

/** Pods that change seldom are no sign of a dead watch. */
const SILENCE_MS = 10_000

/** Options of a {@link PodDeathProof}. */
export interface PodDeathProofOptions {
  /** What sends the requests. Not closed with this. */
  readonly client: LeaseClient
  /** The Pod of this process. Where there is none, others cannot be told of its death; it may still learn of theirs. */
  readonly pod?: { readonly name: string; readonly namespace: string } | undefined
  /** The container of this process. May be left out where the Pod has one only. */
  readonly container?: string | undefined
  /** When this process started, in milliseconds since the Unix epoch. @default that of the process */
  readonly startedAt?: number
  /** @default a logger that drops every line */
  readonly logger?: Logger
}

/**
 * Proves the death of a holder by the status of its container in the API server, which the kubelet of its node writes.
 *
 * Proof is that the very start of the container which the holder named has terminated. A Pod that is missing proves nothing: one
 * that was deleted by force may run on. A node that is cut off proves nothing: its kubelet writes no status. Takes the right to
 * get, list and watch Pods in the namespace of the replicas. Needs a cluster whose kubelets and Pod statuses can be trusted:
 * whoever may write the status of the leader's Pod can end its lease early, as whoever may write the lease can.
 */
export class PodDeathProof implements DeathProof {
  readonly #options: PodDeathProofOptions
  readonly #subscriptions = new Set<ObjectSubscription>()
  #processRef: string | undefined

  /** Does no I/O. */
  constructor(options: PodDeathProofOptions) {
    this.#options = options
  }

  /** The container of this process; undefined until the kubelet has reported it as running. */
  get processRef(): string | undefined {
    return this.#processRef
  }

  /** Begins to look for the container of this process in its Pod. */
  start(): void {
    const { pod, container, logger = silentLogger, startedAt = performance.timeOrigin } = this.#options
    if (pod === undefined) {
      return logger.warn({ event: 'no-pod' }, 'not in a Pod (POD_NAME and POD_NAMESPACE): nobody can prove its death')
    }
    const search = this.#watch(pod, {
      found: (object) => {
        const ref = containerOf(object, { container, startedAt })
        if (ref === undefined) return
        this.#processRef = formatContainerRef(ref)
        logger.info({ event: 'container-known', ...ref }, 'the container of this process is known')
        void search.close()
      },
      failed: (err) => logger.warn({ event: 'container-unknown', err }, `cannot read its own Pod: ${err.message}`),
    })
  }

  watchHolder(holder: LeaseHolder, observer: HolderObserver): LockWatch {
    const ref = parseContainerRef(holder.processRef)
    if (ref === undefined) return { close: async () => {} }
    const { logger = silentLogger } = this.#options
    let isDead = false
    return this.#watch(
      { name: ref.pod, namespace: ref.namespace },
      {
        found: (object) => {
          if (isDead || !hasTerminated(object, ref)) return
          isDead = true
          logger.info({ event: 'death-proved', identity: holder.identity, ...ref }, 'the holder is proved dead')
          observer.dead()
        },
        failed: (err) =>
          logger.warn(
            { event: 'holder-unseen', identity: holder.identity, err },
            `cannot watch its Pod: ${err.message}`,
          ),
      },
    )
  }

  /** Stops looking; resolves when nothing of it is left. */
  async close(): Promise<void> {
    await Promise.all([...this.#subscriptions].map((subscription) => subscription.close()))
  }

  #watch(pod: { readonly name: string; readonly namespace: string }, on: PodListener): LockWatch {
    const subscription = this.#options.client.watch(
      { ...PODS, ...pod },
      {
        silenceMs: SILENCE_MS,
        observer: {
          changed: (seen) => {
            if (seen.kind === 'present' && isJsonObject(seen.object)) on.found(seen.object)
          },
          up: () => {},
          down: on.failed,
        },
      },
    )
    this.#subscriptions.add(subscription)
    return {
      close: () => {
        this.#subscriptions.delete(subscription)
        return subscription.close()
      },
    }
  }
}

interface PodListener {
  readonly found: (pod: Readonly<Record<string, unknown>>) => void
  readonly failed: (cause: Error) => void
}
