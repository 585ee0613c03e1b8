import { LockRequestError } from '@tenure/core'
import { errorOf } from '@tenure/core/internal'
import { ApiRequestError } from '../client/api-request-error.ts'
import type { ApiRequest } from '../client/api-request.ts'
import { ApiTransport } from '../client/api-transport.ts'
import { withDeadline } from '../client/deadline.ts'
import { isJsonObject, objectAt, stringAt } from '../json-object.ts'
import { parseVersion } from '../client/object-metadata.ts'
import { LineDecoder } from '../reflector/line-decoder.ts'
import { pause } from '../reflector/pause.ts'
import { ReconnectBackoff } from '../reflector/reconnect-backoff.ts'
import { WatchInterruptedError } from '../reflector/watch-interrupted-error.ts'
import { type InformerEvent, parseInformerEvent, versionOf } from './informer-event.ts'
import type { ApiObject, InformerOwner, ObjectChange, ResolvedInformerOptions } from './informer-options.ts'
import { InformerStatus } from './informer-status.ts'
import { ObjectCache } from './object-cache.ts'

/** How many objects are asked for at a time. */
const PAGE_SIZE = 500

/** How long a page of a list may take. */
const LIST_TIMEOUT_MS = 60_000

/** How long the server may keep a watch, in seconds; spread so that not all end at once. */
const WATCH_SECONDS = { least: 240, most: 480 }

/** How much longer than it was asked to a watch may last before it is taken for dead. */
const WATCH_SLACK_MS = 30_000

/** A watch that ends sooner counts as a failure, so that a server that ends every one is not asked at full speed. */
const MIN_WATCH_MS = 1000

/**
 * One informer at work. Owns its transport, and one list or watch at a time.
 *
 * 1. A watch resumes after the last version that was seen; only a version that the server no longer keeps, or a store that went back,
 *    makes it list again.
 * 2. After the signal has aborted, no change is reported; `run` resolves when no connection is left.
 */
export class InformerRun<T extends ApiObject> {
  readonly cache: ObjectCache<T> = new ObjectCache()
  readonly #owner: InformerOwner
  readonly #options: ResolvedInformerOptions<T>
  readonly #transport: ApiTransport
  readonly #backoff: ReconnectBackoff
  readonly #status: InformerStatus
  readonly #synced = Promise.withResolvers<void>()
  #version: string | undefined
  /** The object that changed last, as it was then; also a deleted object. */
  #last: ApiObject | undefined
  /** Whether the connection was lost: the store may have been restored meanwhile, and a watch from a later version reports nothing. */
  #isInDoubt = false

  constructor(owner: InformerOwner, options: ResolvedInformerOptions<T>) {
    this.#owner = owner
    this.#options = options
    this.#transport = new ApiTransport({
      kubeConfig: options.kubeConfig,
      clock: options.clock,
      userAgent: `tenure informer ${owner.controller}`,
    })
    this.#backoff = new ReconnectBackoff(options.random)
    const { path, checkName: name, clock } = options
    this.#status = new InformerStatus(owner, { path, name, clock })
    // Nobody has to wait for it.
    this.#synced.promise.catch(() => {})
  }

  get synced(): Promise<void> {
    return this.#synced.promise
  }

  /** Works until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) {
        const problem = await this.#attempt(signal)
        if (problem !== undefined && !signal.aborted) await this.#recover(problem, signal)
      }
    } finally {
      this.#synced.reject(signal.reason)
      this.#status.end()
      await this.#transport.close()
    }
  }

  /** Lists where that is needed, then watches until the watch ends. Resolves with why, unless that was routine. */
  async #attempt(signal: AbortSignal): Promise<Error | undefined> {
    try {
      if (this.#isInDoubt && this.#version !== undefined) await this.#compareVersions(this.#version, signal)
      this.#version ??= await this.#list(signal)
      return await this.#watch(this.#version, signal)
    } catch (error) {
      return errorOf(error)
    }
  }

  async #recover(problem: Error, signal: AbortSignal): Promise<void> {
    const isGone = problem instanceof ApiRequestError && problem.statusCode === 410
    if (isGone) this.#version = undefined
    else this.#isInDoubt = true
    // To list again is all that an outdated version takes, once.
    if (!isGone || !this.#backoff.fresh) {
      this.#status.failed(problem)
      this.#options.onProblem(problem)
    }
    const retryAfterMs = problem instanceof LockRequestError ? (problem.retryAfterMs ?? 0) : 0
    await pause(Math.max(this.#backoff.next(), retryAfterMs), this.#options.clock, signal)
  }

  /**
   * Lists again where the store, or the object that changed last in it, has an older version than was seen before: the store was
   * restored from a backup. A restored store may have grown beyond the version that was seen; then only that object can show it, also
   * by its absence.
   */
  async #compareVersions(seen: string, signal: AbortSignal): Promise<void> {
    const page = await withDeadline({ clock: this.#options.clock, timeoutMs: LIST_TIMEOUT_MS, signal }, (bounded) =>
      this.#transport.send(this.#request('list', { limit: '1', ...this.#lastChanged() }, bounded)),
    )
    const items: readonly unknown[] = isJsonObject(page) && Array.isArray(page['items']) ? page['items'] : []
    const isOlder = isBefore(page, { metadata: { resourceVersion: seen } }) || isBefore(items[0], this.#last)
    const { name, namespace } = this.#last?.metadata ?? {}
    const isMissing = items.length === 0 && name !== undefined && this.cache.get(name, namespace) !== undefined
    if (isOlder || isMissing) this.#version = undefined
    this.#isInDoubt = false
  }

  /** Selects the object that changed last; any, where none is known. */
  #lastChanged(): Readonly<Record<string, string>> {
    const { name, namespace } = this.#last?.metadata ?? {}
    if (name === undefined) return {}
    const { fieldSelector } = this.#options.selector
    const place = namespace === undefined ? [] : [`metadata.namespace=${namespace}`]
    const selectors = [...(fieldSelector === undefined ? [] : [fieldSelector]), `metadata.name=${name}`, ...place]
    return { fieldSelector: selectors.join(',') }
  }

  /** Lists the collection page by page and resolves with the version of the list. */
  async #list(signal: AbortSignal): Promise<string> {
    const objects: T[] = []
    let token: string | undefined
    for (;;) {
      const query = { limit: String(PAGE_SIZE), ...(token !== undefined && { continue: token }) }
      const page = await withDeadline({ clock: this.#options.clock, timeoutMs: LIST_TIMEOUT_MS, signal }, (bounded) =>
        this.#transport.send(this.#request('list', query, bounded)),
      )
      if (!isJsonObject(page) || !Array.isArray(page['items'])) throw new WatchInterruptedError('The list has no items')
      objects.push(...(page['items'] as T[]))
      token = stringAt(objectAt(page, 'metadata'), 'continue') || undefined
      if (token === undefined) return this.#listed(objects, versionOf(page), signal)
    }
  }

  #listed(objects: readonly T[], version: string, signal: AbortSignal): string {
    if (!signal.aborted) for (const change of this.cache.replace(objects)) this.#tell(change)
    this.#last = objects.reduce<T | undefined>((last, object) => (isBefore(object, last) ? last : object), undefined)
    this.#synced.resolve()
    this.#status.listed()
    return version
  }

  async #watch(version: string, signal: AbortSignal): Promise<Error | undefined> {
    const { clock, random } = this.#options
    const seconds = Math.floor(WATCH_SECONDS.least + random() * (WATCH_SECONDS.most - WATCH_SECONDS.least))
    const query = {
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: version,
      timeoutSeconds: String(seconds),
    }
    const openedAt = clock.now()
    await withDeadline({ clock, timeoutMs: seconds * 1000 + WATCH_SLACK_MS, signal }, (bounded) =>
      this.#follow(this.#request('watch', query, bounded)),
    )
    if (clock.now() - openedAt < MIN_WATCH_MS) return new WatchInterruptedError('The server ended the watch at once')
    this.#backoff.reset()
    return undefined
  }

  async #follow(request: ApiRequest): Promise<void> {
    const stream = await this.#transport.open(request)
    const decoder = new LineDecoder()
    const settled = this.#options.clock.setTimer(MIN_WATCH_MS, () => this.#status.sees())
    try {
      await stream.read((chunk) => {
        for (const line of decoder.push(chunk)) {
          if (request.signal.aborted) return
          this.#take(parseInformerEvent(line, request.target))
        }
      })
    } finally {
      settled.cancel()
      stream.close()
    }
  }

  #take(event: InformerEvent): void {
    // The server sends what was asked for: the type is the caller's claim.
    if (event.kind !== 'progress') this.#last = event.object
    if (event.kind === 'present') this.#tell(this.cache.set(event.object as unknown as T))
    if (event.kind === 'gone') this.#tell(this.cache.delete(event.object as unknown as T))
    this.#version = event.version
  }

  #tell(change: ObjectChange<T> | undefined): void {
    if (change === undefined || this.#owner.signal.aborted) return
    this.#owner.spawn(`on ${change.kind}`, () => this.#options.onChange(change)).catch(() => {})
  }

  #request(verb: 'list' | 'watch', query: Readonly<Record<string, string>>, signal: AbortSignal): ApiRequest {
    const { path, selector, collection } = this.#options
    return { method: 'GET', path, query: { ...selector, ...query }, target: { verb, name: '', ...collection }, signal }
  }
}

/** Whether both have versions that are numbers, as those of Kubernetes itself are, and the first is the older one. */
function isBefore(now: unknown, before: unknown): boolean {
  const [version, known] = [parseVersion(now), parseVersion(before)]
  return version !== undefined && known !== undefined && version < known
}
