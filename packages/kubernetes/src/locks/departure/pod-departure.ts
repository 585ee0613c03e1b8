import type { LockWatch, Logger } from '@tenure/core'
import { assertKnownKeys, type Departure, silentLogger } from '@tenure/core/internal'
import { ApiRequestError } from '../../client/api-request-error.ts'
import type { ObjectReference } from '../../client/resource.ts'
import { isJsonObject, objectAt, stringAt, type JsonObject } from '../../json-object.ts'
import type { ObjectSubscription } from '../../reflector/namespace-watches.ts'
import type { LeaseClient } from '../lease/lease-client.ts'
import { isBeingDeleted, isDraining } from './leaving-objects.ts'

/** Longer than the minute between the bookmarks of a stream, so that a watch that works is never polled. */
const SILENCE_MS = 240_000

/** Options of a {@link PodDeparture}. */
export interface PodDepartureOptions {
  /** The client for the watches. Not closed with this object. */
  readonly client: Pick<LeaseClient, 'watch'>
  /** The Pod of this process. */
  readonly pod: { readonly name: string; readonly namespace: string; readonly uid?: string | undefined }
  /** Hears of a departure, and of rights that are missing. @default a logger that drops every line */
  readonly logger?: Logger | undefined
}

const OPTION_NAMES = ['client', 'pod', 'logger'] as const satisfies (keyof PodDepartureOptions)[]

/**
 * Sees that the Pod of this process is being deleted, or that its node is cordoned or drained.
 *
 * 1. A hint. Until the Pod was seen, and without the right to read it, nothing is known.
 * 2. One watch for the Pod, and one for its node. A watch that the API server forbids is not tried again.
 * 3. A Pod that was seen and is gone, or whose name another Pod has, is being stopped as well.
 */
export class PodDeparture implements Departure {
  readonly #options: PodDepartureOptions
  readonly #subscriptions = new Set<ObjectSubscription>()
  readonly #listeners = new Set<() => void>()
  #uid: string | undefined
  #isSeen = false
  #isStopping = false
  #isDraining = false
  #isClosed = false

  /** Does no I/O. */
  constructor(options: PodDepartureOptions) {
    assertKnownKeys('the options of a PodDeparture', options, OPTION_NAMES)
    this.#options = options
    this.#uid = options.pod.uid
  }

  get state(): Departure['state'] {
    if (this.#isStopping) return 'stopping'
    return this.#isDraining ? 'draining' : undefined
  }

  /** Begins to follow the Pod. */
  start(): void {
    const { name, namespace } = this.#options.pod
    this.#follow({ group: '', version: 'v1', resource: 'pods', namespace, name }, (pod) => this.#podSeen(pod))
  }

  watch(changed: () => void): LockWatch {
    this.#listeners.add(changed)
    return { close: async () => void this.#listeners.delete(changed) }
  }

  /** Closes all watches. Resolves when they have ended. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#listeners.clear()
    await Promise.all([...this.#subscriptions].map((subscription) => subscription.close()))
  }

  #podSeen(pod: JsonObject | undefined): void {
    // A Pod that was never seen may have been named wrongly.
    if (pod === undefined) return this.#isSeen ? this.#become(() => (this.#isStopping = true)) : undefined
    const uid = stringAt(objectAt(pod, 'metadata'), 'uid')
    this.#uid ??= uid
    this.#become(() => (this.#isStopping = uid !== this.#uid || isBeingDeleted(pod)))
    if (this.#isSeen || uid !== this.#uid) return
    this.#isSeen = true
    const node = stringAt(objectAt(pod, 'spec'), 'nodeName')
    if (node !== undefined) this.#followNode(node)
  }

  #followNode(name: string): void {
    this.#follow({ group: '', version: 'v1', resource: 'nodes', namespace: '', name }, (node) => {
      if (node !== undefined) this.#become(() => (this.#isDraining = isDraining(node)))
    })
  }

  #become(change: () => void): void {
    const before = this.state
    change()
    const { state } = this
    if (state === before) return
    const { logger = silentLogger, pod } = this.#options
    logger.info({ event: 'departure', departure: state ?? 'none', pod: pod.name }, DESCRIPTIONS[state ?? 'none'])
    for (const changed of this.#listeners) changed()
  }

  #follow(reference: ObjectReference, seen: (object: JsonObject | undefined) => void): void {
    if (this.#isClosed) return
    const subscription: ObjectSubscription = this.#options.client.watch(reference, {
      silenceMs: SILENCE_MS,
      isOptional: true,
      observer: {
        changed: (observed) => {
          if (observed.kind === 'absent') seen(undefined)
          else if (isJsonObject(observed.object)) seen(observed.object)
        },
        up: () => {},
        down: (failure) => {
          if (!(failure instanceof ApiRequestError) || !['forbidden', 'not-found'].includes(failure.failure)) return
          this.#subscriptions.delete(subscription)
          void subscription.close()
          this.#explainMissing(reference, failure)
        },
      },
    })
    this.#subscriptions.add(subscription)
  }

  #explainMissing({ resource }: ObjectReference, err: Error): void {
    const { logger = silentLogger } = this.#options
    const what = resource === 'pods' ? 'its Pod is being deleted' : 'its node is drained'
    logger.info(
      { event: 'departure-unseen', resource, err },
      `This replica does not see when ${what}: it cannot list and watch ${resource}`,
    )
  }
}

const DESCRIPTIONS = {
  stopping: 'The Pod of this process is being deleted: other replicas lead first',
  draining: 'The node of this process is being drained: other replicas lead first',
  none: 'The node of this process takes Pods again',
}
