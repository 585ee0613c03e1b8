/**
 * One watch: the events of a chunked answer. It ends when it times out, or when the client or the server closes it.
 *
 * Owns its subscription to the store, its timers and the answer. Invariants:
 * 1. A committed change is written in the same tick as the commit.
 * 2. After its end, a watch writes nothing and leaves no timer and no subscription.
 */
import type { Clock } from '@tenure/core'
import type { Timer } from '@tenure/core/internal'
import type { ServerResponse } from 'node:http'
import { tooOldVersion, type ApiStatusError } from '../objects/api-status.ts'
import type { JsonObject } from '../objects/json-value.ts'
import type { KubeObject } from '../objects/kube-object.ts'
import type { ListOptions } from '../objects/list-options.ts'
import { encodeEvent } from '../objects/answer-encoding.ts'
import { emptyObject } from '../objects/object-encoding.ts'
import type { Representation } from './negotiation.ts'
import type { ResourceDefinition } from '../resources/resource-definition.ts'
import type { Store, StoreEvent } from '../storage/store.ts'

/** The objects that a watch follows. */
export interface WatchRequest {
  readonly definition: ResourceDefinition
  /** `undefined` for all namespaces. */
  readonly namespace: string | undefined
  readonly options: ListOptions
  readonly representation: Representation
}

/** The parts of a {@link WatchStream}. */
export interface WatchParts {
  readonly store: Store
  readonly clock: Clock
  readonly bookmarkIntervalMs: number
  readonly response: ServerResponse
}

const DEFAULT_TIMEOUT_SECONDS = 30 * 60
/** The server disconnects a slow client when this much is unsent, as the real server does. */
const MAX_UNSENT_BYTES = 64 * 1024 * 1024

/** A running watch. */
export class WatchStream {
  readonly #request: WatchRequest
  readonly #parts: WatchParts
  readonly #startVersion: number
  #bookmarkTimer: Timer | undefined
  #timeoutTimer: Timer | undefined
  #unsubscribe: (() => void) | undefined
  #held: string[] | undefined
  #hasSent = false
  #ended = false

  constructor(request: WatchRequest, parts: WatchParts) {
    this.#request = request
    this.#parts = parts
    this.#startVersion = request.options.resourceVersion ?? 0
  }

  /** Sends the initial events, then follows the store. */
  start(): void {
    const { response, clock, store } = this.#parts
    const { options, definition } = this.#request
    response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-cache, private' })
    response.flushHeaders()
    response.once('close', () => this.end())
    const isReplayed = this.#sendPast()
    if (!isReplayed) return
    this.#unsubscribe = store.watch(definition.collection, (event) => this.#forward(event))
    this.#timeoutTimer = clock.setTimer((options.timeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS) * 1000, () => this.end())
    if (options.allowBookmarks) this.#scheduleBookmark()
  }

  /** Ends the answer in an orderly way, with no error. */
  end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#unsubscribe?.()
    this.#bookmarkTimer?.cancel()
    this.#timeoutTimer?.cancel()
    this.#parts.response.end()
  }

  /** Buffers all events from now on. The connection stays open. */
  hold(): void {
    this.#held ??= []
  }

  /** Sends the buffered events and continues. */
  unhold(): void {
    const held = this.#held
    this.#held = undefined
    for (const frame of held ?? []) this.#write(frame)
  }

  /** Sends the current objects, or the changes since the requested version. Returns `false` if the watch has failed. */
  #sendPast(): boolean {
    const { sendInitialEvents, resourceVersion = 0 } = this.#request.options
    if (sendInitialEvents ?? resourceVersion === 0) {
      this.#sendState()
      return true
    }
    return resourceVersion === 0 || this.#replaySince(resourceVersion)
  }

  #sendState(): void {
    const { options, definition, namespace } = this.#request
    for (const object of this.#parts.store.list(definition.collection, namespace)) {
      if (options.matches(object)) this.#send('ADDED', object)
    }
    if (options.sendInitialEvents === true && options.allowBookmarks) this.#sendBookmark(true)
  }

  #replaySince(version: number): boolean {
    const { store } = this.#parts
    const events = store.eventsSince(this.#request.definition.collection, version)
    if (events === undefined) {
      this.#fail(tooOldVersion(version, store.compactedVersion))
      return false
    }
    for (const event of events) this.#forward(event)
    return true
  }

  #forward(event: StoreEvent): void {
    const { namespace, options } = this.#request
    if (event.version <= this.#startVersion) return
    if (namespace !== undefined && event.ref.namespace !== namespace) return
    const isIn = event.type !== 'DELETED' && options.matches(event.object)
    const wasIn = event.previous !== undefined && options.matches(event.previous)
    if (isIn) this.#send(wasIn ? 'MODIFIED' : 'ADDED', event.object)
    else if (wasIn) this.#send('DELETED', lastMatching(event))
  }

  #send(type: string, object: KubeObject): void {
    const { definition, representation } = this.#request
    const form = { representation, now: this.#parts.clock.wallTime(), withColumns: !this.#hasSent }
    this.#hasSent = true
    this.#write(`{"type":"${type}","object":${encodeEvent(definition, object, form)}}\n`)
  }

  #sendBookmark(endsInitialEvents: boolean): void {
    const { definition } = this.#request
    const metadata: JsonObject = { resourceVersion: String(this.#parts.store.version) }
    if (endsInitialEvents) metadata['annotations'] = { 'k8s.io/initial-events-end': 'true' }
    const object = emptyObject(definition, metadata)
    this.#write(`${JSON.stringify({ type: 'BOOKMARK', object })}\n`)
  }

  #scheduleBookmark(): void {
    const { clock, bookmarkIntervalMs } = this.#parts
    this.#bookmarkTimer = clock.setTimer(bookmarkIntervalMs, () => {
      this.#sendBookmark(false)
      this.#scheduleBookmark()
    })
  }

  #fail(error: ApiStatusError): void {
    this.#write(`${JSON.stringify({ type: 'ERROR', object: error.body })}\n`)
    this.end()
  }

  #write(frame: string): void {
    if (this.#ended) return
    if (this.#held !== undefined) {
      this.#held.push(frame)
      return
    }
    const { response } = this.#parts
    response.write(frame)
    if (response.writableLength > MAX_UNSENT_BYTES) response.destroy()
  }
}

/** The object of a `DELETED` event when the selectors stop matching: its last matching state, at the new version. */
function lastMatching(event: StoreEvent): KubeObject {
  if (event.type === 'DELETED' || event.previous === undefined) return event.object
  const metadata = { ...event.previous.metadata, resourceVersion: String(event.version) }
  return { ...event.previous, metadata }
}
