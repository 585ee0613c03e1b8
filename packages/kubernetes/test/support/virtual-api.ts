import type { Clock } from '@tenure/core'
import { onAbort } from '@tenure/core/internal'
import {
  type KubeObject,
  type ObjectRef,
  Store,
  StoreConflictError,
  type StoreEvent,
} from '@tenure/api-server/internal'
import { ApiRequestError } from '../../src/client/api-request-error.ts'
import { type ApiRequest, type ApiTarget, describeTarget } from '../../src/client/api-request.ts'
import type { ApiStream } from '../../src/client/api-transport.ts'
import type { Connection } from '../../src/client/connection.ts'
import { statusError } from '../../src/client/status-error.ts'
import type { JsonObject } from '../../src/json-object.ts'

/** How one client reaches the server. */
export interface Wire {
  /** Requests and answers are lost, and streams are silent. */
  isCut: boolean
  /** The process does not run: answers and events wait. */
  isPaused: boolean
  /** The process was killed: nothing of it happens any more. */
  isDead?: boolean
  /** The streams of this resource are silent, as from a cache of the server that is behind. */
  silent?: string | undefined
}

/** One write that the server took. */
export interface LoggedWrite {
  readonly at: number
  readonly by: string
  readonly what: string
}

/**
 * An API server on a virtual clock, over the storage of the embedded one: enough of it for Leases, Services and EndpointSlices. Every request
 * takes a moment each way.
 */
export class VirtualApi {
  readonly store: Store = new Store()
  readonly writes: LoggedWrite[] = []
  /** Reads and writes hang, as without etcd; streams stay open. */
  isStalled = false
  /** Whose write the store takes at this moment; undefined for one of the test. */
  writer: string | undefined
  /** Which requests are forbidden. */
  forbids: (target: ApiTarget) => boolean = () => false
  readonly #clock: Clock
  readonly #latencyMs: () => number
  readonly #streams = new Set<{ readonly fail: (error: Error) => void }>()
  readonly #underWay = new Set<() => void>()
  #isDown = false
  #uid = 0

  constructor(clock: Clock, latencyMs: () => number = () => 1) {
    this.#clock = clock
    this.#latencyMs = latencyMs
  }

  /** Writes an object as somebody with all rights would. */
  put(
    collection: string,
    object: JsonObject & { readonly metadata: JsonObject & { readonly name?: string | undefined } },
  ): KubeObject {
    const ref = { collection, namespace: 'ops', name: object.metadata.name ?? '' }
    const stored = this.store.get(ref)
    if (stored !== undefined) return this.store.update(ref, { ...stored, ...object } as KubeObject)
    return this.store.create(ref, this.#born(object))
  }

  get(collection: string, name: string): KubeObject | undefined {
    return this.store.get({ collection, namespace: 'ops', name })
  }

  remove(collection: string, name: string): void {
    this.store.delete({ collection, namespace: 'ops', name })
  }

  /** Ends all streams, as a restart of the server does. */
  breakStreams(): void {
    for (const stream of this.#streams)
      stream.fail(lost({ verb: 'watch', group: '', resource: '', namespace: '', name: '' }))
  }

  /** Kills the server: answers that are under way are lost, also those to what it has done, and it refuses connections until {@link up}. */
  kill(): void {
    this.#isDown = true
    this.breakStreams()
    for (const lose of this.#underWay) lose()
  }

  /** Starts a killed server. */
  up(): void {
    this.#isDown = false
  }

  get isDown(): boolean {
    return this.#isDown
  }

  /** The connection of one client. */
  connect(name: string, wire: Wire = { isCut: false, isPaused: false }): Connection {
    return {
      send: (request) => this.#send(request, name, wire),
      open: (request) => this.#open(request, wire),
      close: async () => {},
    }
  }

  async #send(request: ApiRequest, by: string, wire: Wire): Promise<unknown> {
    await this.#travel(request, wire)
    this.writer = by
    const answer = this.#answer(request, by)
    this.writer = undefined
    await this.#travel(request, wire)
    if (answer instanceof Error) throw answer
    return structuredClone(answer)
  }

  /** Waits for the time of one way. A request that is lost waits for its signal. */
  async #travel({ signal, target }: ApiRequest, wire: Wire): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const lose = (): void => (wire.isCut || wire.isPaused ? undefined : reject(lost(target)))
    const forget = onAbort(signal, () => reject(lost(target)))
    const look = (): void => {
      if (wire.isDead === true || signal.aborted) return
      if (this.#isDown && !wire.isCut && !wire.isPaused) reject(lost(target))
      else if (this.isStalled || wire.isCut || wire.isPaused) this.#clock.setTimer(50, look)
      else resolve()
    }
    const timer = this.#clock.setTimer(this.#latencyMs(), look)
    this.#underWay.add(lose)
    try {
      await promise
    } finally {
      this.#underWay.delete(lose)
      forget()
      timer.cancel()
    }
  }

  #answer(request: ApiRequest, by: string): unknown {
    const { method, target } = request
    try {
      if (this.forbids(target)) return refusal(target, 403)
      if (method === 'GET')
        return target.verb === 'list' ? this.#list(request) : (this.store.get(refOf(target)) ?? refusal(target, 404))
      const answer = this.#write(request)
      if (!(answer instanceof Error)) this.writes.push({ at: this.#clock.now(), by, what: describeTarget(target) })
      return answer
    } catch (error) {
      if (error instanceof StoreConflictError) return refusal(target, error.conflict === 'absent' ? 404 : 409)
      throw error
    }
  }

  #write({ method, body, target }: ApiRequest): unknown {
    const object = body as JsonObject & {
      readonly metadata?: { readonly name: string; readonly resourceVersion?: string }
    }
    const endpoints = object['endpoints']
    if (Array.isArray(endpoints) && endpoints.length > 1000) return refusal(target, 422)
    if (method === 'POST')
      return this.store.create(refOf({ ...target, name: object.metadata?.name ?? '' }), this.#born(object))
    if (method === 'PUT')
      return this.store.update(refOf(target), object as unknown as KubeObject, object.metadata?.resourceVersion)
    const stored = this.store.get(refOf(target))
    const { uid, resourceVersion } = (object['preconditions'] ?? {}) as {
      readonly uid?: string
      readonly resourceVersion?: string
    }
    if (stored !== undefined && uid !== undefined && stored.metadata.uid !== uid) return refusal(target, 409)
    return this.store.delete(refOf(target), resourceVersion)
  }

  #list({ target, query }: ApiRequest): unknown {
    const items = this.store.list(target.resource, target.namespace).filter((object) => isSelected(object, query))
    return { metadata: { resourceVersion: String(this.store.version) }, items }
  }

  async #open(request: ApiRequest, wire: Wire): Promise<ApiStream> {
    await this.#travel(request, wire)
    const { target, query, signal } = request
    if (this.forbids(target)) throw refusal(target, 403)
    const { promise, reject } = Promise.withResolvers<void>()
    const pending: string[] = []
    let take: ((chunk: Buffer) => void) | undefined
    const flush = (): void => {
      if (take === undefined || signal.aborted || wire.isDead === true) return
      if (wire.isCut || wire.isPaused || wire.silent === target.resource) return void this.#clock.setTimer(50, flush)
      try {
        for (const line of pending.splice(0)) take(Buffer.from(line))
      } catch (error) {
        reject(error)
      }
    }
    const push = (event: StoreEvent): void => {
      if (event.ref.namespace !== target.namespace) return
      const line = lineOf(event, query)
      if (line === undefined) return
      pending.push(line)
      this.#clock.setTimer(this.#latencyMs(), flush)
    }
    for (const event of this.store.eventsSince(target.resource, Number(query?.['resourceVersion'])) ?? []) push(event)
    const stopWatching = this.store.watch(target.resource, push)
    const stream = { fail: reject }
    this.#streams.add(stream)
    const ended = onAbort(signal, () => reject(lost(target)))
    // Nobody may read it any more.
    promise.catch(() => {})
    return {
      read: async (taker) => {
        take = taker
        flush()
        await promise
      },
      close: () => {
        ended()
        stopWatching()
        this.#streams.delete(stream)
      },
    }
  }

  #born(object: JsonObject): KubeObject {
    const metadata = { ...(object['metadata'] as object), namespace: 'ops', uid: `uid-${++this.#uid}` }
    return { ...object, metadata } as unknown as KubeObject
  }
}

function refOf({ resource, namespace, name }: ApiTarget): ObjectRef {
  return { collection: resource, namespace, name }
}

function refusal(target: ApiTarget, statusCode: number): ApiRequestError {
  return statusError(target, { statusCode, headers: {}, body: { code: statusCode } })
}

function lost(target: ApiTarget): ApiRequestError {
  return new ApiRequestError('unreachable', `Could not ${describeTarget(target)}: the server did not answer`)
}

/** An object that is no longer selected is gone for the watcher. */
function lineOf({ type, object, previous }: StoreEvent, query: ApiRequest['query']): string | undefined {
  const [is, was] = [isSelected(object, query), previous !== undefined && isSelected(previous, query)]
  if (!is && !was) return undefined
  const kind = type === 'DELETED' || !is ? 'DELETED' : was ? 'MODIFIED' : 'ADDED'
  return `${JSON.stringify({ type: kind, object })}\n`
}

function isSelected(object: KubeObject, query: ApiRequest['query'] = {}): boolean {
  const name = /^metadata\.name=(.+)$/.exec(query['fieldSelector'] ?? '')?.[1]
  if (name !== undefined && name !== object.metadata.name) return false
  const [key, value] = (query['labelSelector'] ?? '').split('=')
  return key === undefined || key === '' || object.metadata.labels?.[key] === value
}
