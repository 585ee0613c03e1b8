import type { Clock, Logger } from '@tenure/core'
import type { Random } from '@tenure/core/internal'
import { LockRequestError } from '@tenure/core'
import { errorOf } from '@tenure/core/internal'
import { ApiRequestError } from '../client/api-request-error.ts'
import { ApiTransport, type ApiStream } from '../client/api-transport.ts'
import type { KubeConfigSource } from '../client/current-settings.ts'
import type { ApiTarget } from '../client/api-request.ts'
import { withDeadline } from '../client/deadline.ts'
import { listObjects, target, watchObjects } from '../client/object-requests.ts'
import type { ObjectSelection } from '../client/resource.ts'
import { LineDecoder } from './line-decoder.ts'
import { Listing } from './listing.ts'
import type { ObservedObject } from './observed-object.ts'
import { pause } from './pause.ts'
import { ReconnectBackoff } from './reconnect-backoff.ts'
import { SilenceGuard } from './silence-guard.ts'
import { parseWatchEvent } from './watch-event.ts'
import { WatchInterruptedError } from './watch-interrupted-error.ts'
import type { WatchSubscription } from './watch-subscription.ts'

/** A stream that ends sooner is taken for a failure, so that a server that ends every watch is not asked again at full speed. */
const MIN_STREAM_MS = 1000

/** What an {@link ObjectWatch} needs. */
export interface ObjectWatchOptions {
  readonly kubeConfig: KubeConfigSource
  readonly userAgent: string
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  /** What is watched: one object, or all of a resource in a namespace. */
  readonly selection: ObjectSelection
  /** Called when the server forbids the watch; when that fulfils with true, somebody else has taken over the subscriptions. */
  readonly onForbidden?: (error: ApiRequestError) => Promise<boolean>
}

/**
 * Follows objects of one resource and namespace: lists them, watches from the version of the list, and connects again when the
 * stream ends or breaks.
 *
 * Owns its transport, one stream at a time, and the timers that judge it. Does not poll in place of a broken watch; that is
 * what `down` tells the observers to do. Keeps nothing of objects that nobody has subscribed to.
 *
 * 1. A stream resumes after the last version that was seen on a stream or in a list; only a version that the server no longer
 *    keeps, or a subscription that the list does not cover, makes it list again. So no state of an object goes unseen for good.
 * 2. An observer gets versions in ascending order, and nothing after its subscription was removed. Lists are consistent reads: an
 *    older version of an object than was known before shows that the store was restored from a backup, and versions start again
 *    from there.
 * 3. A routine end of a stream is not `down`; a failed attempt to connect is.
 */
export class ObjectWatch {
  readonly #options: ObjectWatchOptions
  readonly #target: ApiTarget
  readonly #transport: ApiTransport
  readonly #backoff: ReconnectBackoff
  readonly #subscriptions = new Map<string, Set<WatchSubscription>>()
  readonly #joining = new Set<Promise<void>>()
  readonly #stopping = new AbortController()
  #session: AbortController | undefined
  #running: Promise<void> = Promise.resolve()
  #closing: Promise<void> | undefined
  #resumeAfter: bigint | undefined
  #isFollowing = false
  /** Why the watch is down, as it was logged last; undefined while it is up. */
  #downBecause: string | undefined
  /** Whether the connection was lost: the store may have been restored meanwhile. */
  #isInDoubt = false
  /** The newest version of the store that was ever seen. */
  #newest = 0n
  #silenceMs = Number.POSITIVE_INFINITY

  private constructor(options: ObjectWatchOptions) {
    this.#options = options
    this.#target = target('watch', options.selection)
    const { kubeConfig, userAgent, clock } = options
    this.#transport = new ApiTransport({ kubeConfig, userAgent, clock })
    this.#backoff = new ReconnectBackoff(options.random)
  }

  /** Begins to follow. No observer is called before this returns. */
  static start(options: ObjectWatchOptions, subscriptions: Iterable<WatchSubscription>): ObjectWatch {
    const watch = new ObjectWatch(options)
    for (const subscription of subscriptions) watch.#enter(subscription)
    watch.#running = watch.#run()
    return watch
  }

  /** Follows one more object. */
  add(subscription: WatchSubscription): void {
    this.#enter(subscription)
    const session = this.#session
    // The list is still to come, and will hold it.
    if (this.#resumeAfter === undefined || session === undefined) return
    const joining = this.#join(subscription, session).finally(() => this.#joining.delete(joining))
    this.#joining.add(joining)
  }

  /** Forgets an object. Tells whether none is left. */
  remove(subscription: WatchSubscription): 'empty' | 'in-use' {
    const ofName = this.#subscriptions.get(subscription.name)
    ofName?.delete(subscription)
    if (ofName?.size === 0) this.#subscriptions.delete(subscription.name)
    return this.#subscriptions.size === 0 ? 'empty' : 'in-use'
  }

  /** Everything that is subscribed to. */
  get subscriptions(): readonly WatchSubscription[] {
    return [...this.#subscriptions.values()].flatMap((ofName) => [...ofName])
  }

  /** Stops; resolves when the connections are gone. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#stopping.abort(new WatchInterruptedError('The watch is closed'))
    await Promise.all([this.#transport.close(), this.#running, ...this.#joining])
  }

  #enter(subscription: WatchSubscription): void {
    const ofName = this.#subscriptions.get(subscription.name) ?? new Set()
    this.#subscriptions.set(subscription.name, ofName.add(subscription))
    this.#silenceMs = Math.min(this.#silenceMs, subscription.silenceMs)
  }

  async #run(): Promise<void> {
    const stop = this.#stopping.signal
    while (!stop.aborted) {
      const failure = await this.#attempt()
      if (failure !== undefined && !stop.aborted) await this.#recover(failure)
    }
  }

  /** Reads the object of one who came after the list; the stream tells of everything after that. */
  async #join(subscription: WatchSubscription, session: AbortController): Promise<void> {
    try {
      const selection = { ...this.#options.selection, name: subscription.name }
      const listing = await this.#read(selection, this.#silenceMs, session.signal)
      const { name } = subscription
      subscription.streamed(listing.only((one) => one === name).get(name) ?? listing.absent)
      if (this.#isFollowing) subscription.up()
    } catch {
      // Then it is in the next list.
      session.abort(this.#listAgain())
    }
  }

  /** Follows until the stream ends. Returns why, unless it was routine. */
  async #attempt(): Promise<Error | undefined> {
    const session = new AbortController()
    const onStop = () => session.abort(this.#stopping.signal.reason)
    this.#stopping.signal.addEventListener('abort', onStop, { once: true })
    this.#session = session
    try {
      if (this.#resumeAfter === undefined) await this.#list(session.signal)
      session.signal.throwIfAborted()
      const stream = await this.#open(this.#resumeAfter ?? this.#newest, session)
      return await this.#follow(stream, session)
    } catch (error) {
      const cause = causeOf(error, session.signal)
      return cause instanceof ListAgain ? undefined : cause
    } finally {
      this.#stopping.signal.removeEventListener('abort', onStop)
      session.abort()
    }
  }

  async #recover(failure: Error): Promise<void> {
    const refusal = failure instanceof ApiRequestError ? failure : undefined
    if (refusal?.failure === 'forbidden' && (await this.#options.onForbidden?.(refusal)) === true) return
    const statusCode = refusal?.statusCode
    const gone = statusCode === 410
    this.#isInDoubt = true
    // A server that answers but does not serve from that version gets another one; there is more than one way to say it.
    if (statusCode !== undefined && statusCode !== 429) this.#resumeAfter = undefined
    // To list again is all that an outdated version takes, once.
    if (!gone || !this.#backoff.fresh) this.#report(failure)
    const retryAfterMs = failure instanceof LockRequestError ? (failure.retryAfterMs ?? 0) : 0
    await pause(Math.max(this.#backoff.next(), retryAfterMs), this.#options.clock, this.#stopping.signal)
  }

  /** Tells of an outage, and logs it when it begins and when its reason changes. */
  #report(failure: Error): void {
    const { logger, selection } = this.#options
    const { namespace, name } = selection
    if (this.#downBecause !== failure.message) {
      logger.warn(
        { event: 'watch-down', namespace, lease: name, err: failure },
        `the watch is down: ${failure.message}`,
      )
    }
    this.#downBecause = failure.message
    for (const subscription of this.subscriptions) subscription.down(failure)
  }

  /** Reads the objects with the version of the store, which a plain read does not give for an absent one. */
  async #read(selection: ObjectSelection, timeoutMs: number, signal: AbortSignal): Promise<Listing> {
    const { clock } = this.#options
    const answer = await withDeadline({ clock, timeoutMs, signal }, (bounded) =>
      this.#transport.send(listObjects(selection, bounded)),
    )
    return Listing.parse(answer)
  }

  /** Tells the subscribers of a list, and goes on from there: at once, so that none can come in between. */
  async #list(signal: AbortSignal): Promise<void> {
    const before = this.#known()
    const listing = await this.#read(this.#options.selection, this.#silenceMs, signal)
    const seen = this.#seenIn(listing)
    if (listing.version < this.#newest || isOlder(seen, before)) this.#startAgain(listing.version)
    this.#isInDoubt = false
    this.#newest = listing.version
    this.#resumeAfter = listing.version
    for (const [subscription, object] of seen) subscription.streamed(object)
  }

  /** The store was restored. Says so in the log, because whatever else is kept in it went back as well. */
  #startAgain(version: bigint): void {
    const { logger, selection } = this.#options
    const { namespace, name } = selection
    logger.warn(
      { event: 'store-restored', namespace, lease: name },
      `the store is at version ${version} and has forgotten what was seen up to ${this.#newest}, as after a restore from a backup`,
    )
    for (const subscription of this.subscriptions) subscription.restored()
  }

  async #open(version: bigint, session: AbortController): Promise<ApiStream> {
    const { clock, random, selection } = this.#options
    const silenceMs = this.#silenceMs
    const timer = clock.setTimer(silenceMs, () => {
      session.abort(new WatchInterruptedError(`The watch was not answered within ${silenceMs} ms`))
    })
    try {
      return await this.#transport.open(watchObjects(selection, { version, spread: random() }, session.signal))
    } finally {
      timer.cancel()
    }
  }

  async #follow(stream: ApiStream, session: AbortController): Promise<Error | undefined> {
    const { clock } = this.#options
    const openedAt = clock.now()
    let routine = false
    const guard = this.#createGuard(session)
    const decoder = new LineDecoder()
    this.#isFollowing = true
    const isRecovering = this.#downBecause !== undefined
    const settled = isRecovering ? clock.setTimer(MIN_STREAM_MS, () => this.#settled()) : undefined
    for (const subscription of this.subscriptions) subscription.up()
    if (this.#isInDoubt) guard.startWithPoll()
    else guard.start()
    this.#isInDoubt = false
    try {
      await stream.read((chunk) => {
        guard.heard()
        for (const line of decoder.push(chunk)) this.#take(line)
      })
    } finally {
      this.#isFollowing = false
      settled?.cancel()
      guard.stop()
      stream.close()
      routine = clock.now() - openedAt >= MIN_STREAM_MS
      if (routine) this.#backoff.reset()
    }
    return routine ? undefined : new WatchInterruptedError('The server ended the watch at once')
  }

  /** A stream has lasted: logs the end of an outage. */
  #settled(): void {
    const { logger, selection } = this.#options
    this.#downBecause = undefined
    logger.info({ event: 'watch-up', namespace: selection.namespace, lease: selection.name }, 'the watch works again')
  }

  #take(line: string): void {
    const event = parseWatchEvent(line, this.#target)
    const version = event.kind === 'object' ? event.seen.version : event.version
    if (event.kind === 'object') {
      for (const subscription of this.#subscriptions.get(event.name) ?? []) subscription.streamed(event.seen)
    }
    if (version > this.#newest) this.#newest = version
    // A subscriber that came while the event was handled asked for a list.
    if (this.#resumeAfter !== undefined) this.#resumeAfter = version
  }

  #createGuard(session: AbortController): SilenceGuard {
    const { clock } = this.#options
    const isBehind = () => this.subscriptions.some((subscription) => subscription.isBehind)
    const silenceMs = this.#silenceMs
    return new SilenceGuard({
      clock,
      silenceMs,
      poll: async (timeoutMs) => {
        const [newest, before] = [this.#newest, this.#known()]
        const listing = await this.#read(this.#options.selection, timeoutMs, session.signal)
        const seen = this.#seenIn(listing)
        if (listing.version < newest || isOlder(seen, before)) throw this.#listAgain()
        for (const [subscription, object] of seen) subscription.polled(object)
        return isBehind() ? 'behind' : 'in-step'
      },
      isBehind,
      lost: (cause) => session.abort(cause === 'behind' ? silent(silenceMs) : cause),
    })
  }

  #listAgain(): ListAgain {
    this.#resumeAfter = undefined
    return new ListAgain()
  }

  /** What is known of each object. What a list says that is asked for now cannot be older. */
  #known(): ReadonlyMap<WatchSubscription, bigint> {
    return new Map(this.subscriptions.map((subscription) => [subscription, subscription.newest]))
  }

  /** What a list says to each subscriber. */
  #seenIn(listing: Listing): [WatchSubscription, ObservedObject][] {
    const observed = listing.only((name) => this.#subscriptions.has(name))
    return this.subscriptions.map((one) => [one, observed.get(one.name) ?? listing.absent])
  }
}

function isOlder(
  seen: readonly [WatchSubscription, ObservedObject][],
  before: ReadonlyMap<WatchSubscription, bigint>,
): boolean {
  return seen.some(([subscription, { version }]) => version < (before.get(subscription) ?? 0n))
}

/** Why a session ends that is to begin with a list again. */
class ListAgain extends Error {}

function silent(silenceMs: number): WatchInterruptedError {
  return new WatchInterruptedError(`Something changed but the watch was silent for ${silenceMs} ms`)
}

/** What ended the session says more than what the aborted request makes of it. */
function causeOf(error: unknown, session: AbortSignal): Error {
  if (session.aborted && session.reason instanceof Error) return session.reason
  return errorOf(error)
}
