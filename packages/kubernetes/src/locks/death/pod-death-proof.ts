import { type LockWatch, type Logger } from '@tenure/core'
import { assertKnownKeys, silentLogger, type HolderObserver, type LeaseHolder } from '@tenure/core/internal'
import type { LeaseClient } from '../lease/lease-client.ts'
import { isJsonObject, type JsonObject } from '../../json-object.ts'
import type { Resource } from '../../client/resource.ts'
import type { ObjectSubscription } from '../../reflector/namespace-watches.ts'
import { formatContainerRef, parseContainerRef, type ContainerRef } from './container-ref.ts'
import { containerOf, hasTerminated, isRefuted, type ContainerQuery } from './container-status.ts'
import type { DeathProof } from '../death-proof.ts'
import { readKernelContainerId } from './kernel-container-id.ts'

const PODS: Resource = { group: '', version: 'v1', resource: 'pods' }

/** Longer than for leases, because a Pod rarely changes. */
const SILENCE_MS = 10_000

/** Options of a {@link PodDeathProof}. */
export interface PodDeathProofOptions {
  /** The client for the requests. Not closed with this object. */
  readonly client: LeaseClient
  /** The Pod of this process. Without a Pod, others cannot detect its termination; it may still detect theirs. */
  readonly pod?: { readonly name: string; readonly namespace: string } | undefined
  /** The container of this process. Optional if the Pod has only one. */
  readonly container?: string | undefined
  /** When this process started, in milliseconds since the Unix epoch. @default that of the process */
  readonly startedAt?: number
  /** The ID of the container of this process, without the scheme of the runtime. @default the ID that the kernel shows */
  readonly kernelId?: string | undefined
  /** Hears of Pods that cannot be watched. @default a logger that drops every line */
  readonly logger?: Logger
}

const OPTION_NAMES = [
  'client',
  'pod',
  'container',
  'startedAt',
  'kernelId',
  'logger',
] as const satisfies (keyof PodDeathProofOptions)[]

/**
 * Proves the death of a holder by the status of its container in the API server, which the kubelet of its node writes.
 *
 * Proof is that the very start of the container which the holder named has terminated, after the process of the holder started. A
 * missing Pod proves nothing: a Pod that was deleted by force may still run. A node that is cut off proves nothing: its kubelet
 * writes no status. Needs the right to get, list and watch Pods in the namespace of the replicas. Needs a cluster whose kubelets
 * and Pod statuses can be trusted: a client that may write the status of the leader's Pod can end its lease early, as can a
 * client that may write the lease.
 *
 * A replica names its container once the kubelet reports it as running, and withdraws the name when a later status contradicts
 * it.
 */
export class PodDeathProof implements DeathProof {
  readonly #options: PodDeathProofOptions
  readonly #subscriptions = new Set<ObjectSubscription>()
  #own: ContainerRef | undefined
  #isStarted = false

  /** Does no I/O. */
  constructor(options: PodDeathProofOptions) {
    assertKnownKeys('the options of a PodDeathProof', options, OPTION_NAMES)
    this.#options = options
  }

  /**
   * The container of this process. Undefined until the kubelet has reported it as running, and while its status contradicts that.
   */
  get processRef(): string | undefined {
    return this.#own && formatContainerRef(this.#own)
  }

  /** Begins to follow the container of this process in the status of its Pod. Does nothing if it has begun before. */
  start(): void {
    if (this.#isStarted) return
    this.#isStarted = true
    const { pod, logger = silentLogger } = this.#options
    if (pod === undefined) {
      return logger.warn(
        { event: 'no-pod' },
        'This process does not know its Pod, so no other replica can prove its death. Set POD_NAME and POD_NAMESPACE',
      )
    }
    const { container, startedAt = performance.timeOrigin, kernelId = readKernelContainerId() } = this.#options
    this.#watch(pod, {
      found: (object) => this.#look(object, { container, startedAt, kernelId }),
      failed: (err) =>
        logger.warn({ event: 'container-unknown', err }, `Could not read the Pod of this process: ${err.message}`),
    })
  }

  #look(pod: JsonObject, query: ContainerQuery): void {
    const { logger = silentLogger } = this.#options
    const found = containerOf(pod, query)
    const isNew = found?.containerId !== this.#own?.containerId
    if (!isNew || (found === undefined && this.#own !== undefined && !isRefuted(pod, this.#own))) return
    this.#own = found
    if (found !== undefined) logger.info({ event: 'container-known', ...found }, 'Found the container of this process')
    else
      logger.info(
        { event: 'container-withdrawn' },
        'Withdrew the container of this process: the status of its Pod contradicts it',
      )
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
          logger.info(
            { event: 'death-proved', holder: holder.identity, ...ref },
            'The container of the holder has terminated: its lease need not expire',
          )
          observer.dead()
        },
        failed: (err) =>
          logger.warn(
            { event: 'holder-unseen', holder: holder.identity, err },
            `Could not watch the Pod of the holder: ${err.message}`,
          ),
      },
    )
  }

  /** Closes all watches. Resolves when they have ended. */
  async close(): Promise<void> {
    await Promise.all([...this.#subscriptions].map((subscription) => subscription.close()))
  }

  #watch(pod: { readonly name: string; readonly namespace: string }, on: PodListener): LockWatch {
    let loggedFailure: string | undefined
    const subscription = this.#options.client.watch(
      { ...PODS, ...pod },
      {
        silenceMs: SILENCE_MS,
        observer: {
          changed: (seen) => {
            if (seen.kind === 'present' && isJsonObject(seen.object)) on.found(seen.object)
          },
          up: () => (loggedFailure = undefined),
          down: (failure) => {
            if (failure.message === loggedFailure) return
            loggedFailure = failure.message
            on.failed(failure)
          },
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
  readonly found: (pod: JsonObject) => void
  readonly failed: (cause: Error) => void
}
