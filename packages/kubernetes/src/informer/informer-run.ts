import type { ApiRequest } from '../client/api-request.ts'
import { ApiTransport } from '../client/api-transport.ts'
import { withDeadline } from '../client/deadline.ts'
import { parseDecimal, parseVersion } from '../client/object-metadata.ts'
import { watchQuery } from '../client/object-requests.ts'
import { isJsonObject, objectAt, stringAt } from '../json-object.ts'
import type { ReflectedList, ReflectorFeed, StreamGuard } from '../reflector/reflector-feed.ts'
import { Reflector } from '../reflector/reflector.ts'
import { versionOf, type WatchEvent } from '../reflector/watch-event.ts'
import { WatchInterruptedError } from '../reflector/watch-interrupted-error.ts'
import { writtenVersions } from '../gate/written-versions.ts'
import type {
  ApiObject,
  InformerOwner,
  LedBequests,
  LedOwner,
  ObjectChange,
  ResolvedInformerOptions,
} from './informer-options.ts'
import { CacheBarrier } from '@tenure/core/internal'
import { InformerStatus } from './informer-status.ts'
import { ObjectCache } from './object-cache.ts'

/** The number of objects in one page of a list. */
const PAGE_SIZE = 500

/** The bound on one page of a list. */
const LIST_TIMEOUT_MS = 60_000

/** The bound on the time until the server answers a watch. It answers before the first event. */
const OPEN_TIMEOUT_MS = 10_000

/** A watch that lasts this much longer than requested counts as dead. */
const WATCH_SLACK_MS = 30_000

/**
 * One running informer. Owns its transport, and one list or watch at a time.
 *
 * 1. It lists again only when the server no longer keeps the last version, or when the store went back.
 * 2. After the signal aborts it reports no change; `run` resolves when all connections are closed.
 */
export class InformerRun<T extends ApiObject> {
  readonly cache: ObjectCache<T> = new ObjectCache()
  readonly #owner: InformerOwner & LedOwner
  readonly #options: ResolvedInformerOptions<T>
  readonly #transport: ApiTransport
  readonly #reflector: Reflector
  readonly #status: InformerStatus
  readonly #synced = Promise.withResolvers<void>()
  readonly #barrier: CacheBarrier
  /** Whether a warm-up started it, so that its first list may be older than the term. */
  readonly #isOlderThanTerm: boolean
  #fresh: Promise<void> | undefined
  /** The version of the last complete list; empty before the first. */
  #listVersion = ''
  /** The object that changed last, as it was then; it may be deleted. */
  #last: ApiObject | undefined
  /** How long the server was asked to keep the current watch. */
  #watchMs = 0

  constructor(owner: InformerOwner & LedOwner, options: ResolvedInformerOptions<T>) {
    this.#owner = owner
    this.#options = options
    const { kubeConfig, clock, random, path, checkName: name } = options
    this.#transport = new ApiTransport({ kubeConfig, clock, userAgent: `tenure informer ${owner.controller}` })
    this.#reflector = new Reflector({ transport: this.#transport, clock, random, feed: this.#feed() })
    this.#barrier = new CacheBarrier({
      clock,
      isSelective: Object.keys(options.selector).length > 0,
      readAgain: () => this.#reflector.listAgain(),
    })
    this.#isOlderThanTerm = owner.leadership === undefined
    this.#status = new InformerStatus(owner, { path, name, clock })
    // A caller may ignore it.
    this.#synced.promise.catch(() => {})
  }

  /** After a warm-up: resolves when the cache shows what the term before has written. */
  get synced(): Promise<void> {
    const { leadership } = this.#owner
    if (leadership === undefined || !this.#isOlderThanTerm) return this.#synced.promise
    if (this.#fresh === undefined) {
      this.#fresh = this.#synced.promise.then(() => this.#reach(leadership.bequests))
      // A caller may ignore it.
      this.#fresh.catch(() => {})
    }
    return this.#fresh
  }

  /** A collection that earlier terms did not write needs no wait. If their writes are not known, a new list shows all of them. */
  async #reach(bequests: LedBequests): Promise<void> {
    const written = writtenVersions(this.#options.collection, bequests.legacy.versions)
    if ([...written.values()].some(isUnknown)) this.#status.listsAgain(this.#listVersion)
    await this.#barrier.wait([...written.values()])
    this.#noteList(bequests)
  }

  /** The last list was requested in this term, so it shows what earlier terms wrote. Later terms need not read that again. */
  #noteList(bequests: LedBequests): void {
    for (const [name, version] of writtenVersions(this.#options.collection, bequests.legacy.versions))
      if (isUnknown(version)) bequests.noteVersion(name, this.#listVersion)
  }

  /** Works until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      await this.#reflector.run(signal)
    } finally {
      this.#synced.reject(signal.reason)
      this.#barrier.end(signal.reason)
      this.#status.end()
      await this.#transport.close()
    }
  }

  #feed(): ReflectorFeed {
    return {
      openTimeoutMs: () => OPEN_TIMEOUT_MS,
      list: (signal) => this.#list(signal),
      watch: (version, signal) => this.#watch(version, signal),
      wentBack: (version, signal) => this.#wentBack(version, signal),
      opened: ({ lost }) => this.#opened(lost),
      take: (event) => this.#take(event),
      recovered: () => this.#status.recovered(),
      // A large collection is not listed again for an error that says nothing about the version.
      needsList: ({ statusCode }) => statusCode === 410,
      handles: () => Promise.resolve(false),
      failed: (failure) => {
        this.#status.failed(failure)
        this.#options.onProblem(failure)
      },
    }
  }

  /**
   * Whether the store was restored from a backup: it, or the object that changed last, has an older version than before. A restored
   * store may have grown beyond the known version. Then only that object, or its absence, reveals the restore.
   */
  async #wentBack(seen: string, signal: AbortSignal): Promise<boolean> {
    const page = await this.#send({ limit: '1', ...this.#lastChanged() }, signal)
    const items: readonly unknown[] = isJsonObject(page) && Array.isArray(page['items']) ? page['items'] : []
    const isOlder = isBefore(page, { metadata: { resourceVersion: seen } }) || isBefore(items[0], this.#last)
    const { name, namespace } = this.#last?.metadata ?? {}
    return isOlder || (items.length === 0 && name !== undefined && this.cache.get(name, namespace) !== undefined)
  }

  /** Selects the object that changed last; any object if none is known. */
  #lastChanged(): Readonly<Record<string, string>> {
    const { name, namespace } = this.#last?.metadata ?? {}
    if (name === undefined) return {}
    const { fieldSelector } = this.#options.selector
    const place = namespace === undefined ? [] : [`metadata.namespace=${namespace}`]
    const selectors = [...(fieldSelector === undefined ? [] : [fieldSelector]), `metadata.name=${name}`, ...place]
    return { fieldSelector: selectors.join(',') }
  }

  /** Lists the collection page by page. */
  async #list(signal: AbortSignal): Promise<ReflectedList> {
    const objects: T[] = []
    let token: string | undefined
    for (;;) {
      const page = await this.#send({ limit: String(PAGE_SIZE), ...(token && { continue: token }) }, signal)
      if (!isJsonObject(page) || !Array.isArray(page['items'])) throw new WatchInterruptedError('The list has no items')
      objects.push(...(page['items'] as T[]))
      token = stringAt(objectAt(page, 'metadata'), 'continue')
      const version = versionOf(page)
      if (version === undefined) throw new WatchInterruptedError('The list has no resource version')
      if (!token) return { version, accept: () => this.#listed(objects, version) }
    }
  }

  #listed(objects: readonly T[], version: string): void {
    for (const change of this.cache.replace(objects)) this.#report(change)
    this.#last = objects.reduce<T | undefined>((last, object) => (isBefore(object, last) ? last : object), undefined)
    this.#listVersion = version
    const { leadership } = this.#owner
    if (leadership !== undefined && !this.#isOlderThanTerm) this.#noteList(leadership.bequests)
    this.#barrier.listed(version)
    this.#synced.resolve()
    this.#status.listed()
  }

  #watch(version: string, signal: AbortSignal): ApiRequest {
    const query = watchQuery({ version, spread: this.#options.random() })
    this.#watchMs = Number(query.timeoutSeconds) * 1000
    return this.#request('watch', { ...query }, signal)
  }

  /** A dead watch of a quiet collection looks like a live one, but the server ends every live watch in time. */
  #opened(lost: (cause: Error) => void): StreamGuard {
    const timer = this.#options.clock.setTimer(this.#watchMs + WATCH_SLACK_MS, () => {
      lost(new WatchInterruptedError('The server did not end the watch in time'))
    })
    return { heard: () => {}, stop: () => timer.cancel() }
  }

  #take(event: WatchEvent): void {
    if (event.kind === 'progress') return this.#barrier.reached(event.version)
    this.#last = event.object
    // The server sends what was requested: the type is the caller's claim.
    const object = event.object as unknown as T
    this.#report(event.kind === 'present' ? this.cache.set(object) : this.cache.delete(object))
    this.#barrier.reached(event.version)
  }

  #report(change: ObjectChange<T> | undefined): void {
    if (change === undefined || this.#owner.signal.aborted) return
    this.#owner.spawn(`on ${change.kind}`, () => this.#options.onChange(change)).catch(() => {})
  }

  #send(query: Readonly<Record<string, string>>, signal: AbortSignal): Promise<unknown> {
    const { clock } = this.#options
    return withDeadline({ clock, timeoutMs: LIST_TIMEOUT_MS, signal }, (bounded) =>
      this.#transport.send(this.#request('list', query, bounded)),
    )
  }

  #request(verb: 'list' | 'watch', query: Readonly<Record<string, string>>, signal: AbortSignal): ApiRequest {
    const { path, selector, collection } = this.#options
    return { method: 'GET', path, query: { ...selector, ...query }, target: { verb, name: '', ...collection }, signal }
  }
}

/** Whether a version cannot be compared, so that only a new list shows what was written. */
function isUnknown(version: string): boolean {
  return parseDecimal(version) === undefined
}

/** Whether `now` has an older version than `before`. False if either version is missing or not a number. */
function isBefore(now: unknown, before: unknown): boolean {
  const [version, known] = [parseVersion(now), parseVersion(before)]
  return version !== undefined && known !== undefined && version < known
}
