import { channel } from 'node:diagnostics_channel'
import type { Clock, LockFailure, Logger } from '@tenure/core'
import { type Random, STORE_RESTORED_CHANNEL } from '@tenure/core/internal'
import type { ApiRequestError } from '../client/api-request-error.ts'
import type { ApiRequest } from '../client/api-request.ts'
import { ApiTransport } from '../client/api-transport.ts'
import type { KubeConfigSource } from '../client/current-settings.ts'
import { withDeadline } from '../client/deadline.ts'
import { nameOf } from '../client/object-metadata.ts'
import { listObjects, watchObjects } from '../client/object-requests.ts'
import type { ObjectSelection } from '../client/resource.ts'
import { Listing } from './listing.ts'
import { type ObservedObject, observedIn } from './observed-object.ts'
import type { ReflectedList, ReflectorFeed, StreamContext, StreamGuard } from './reflector-feed.ts'
import { Reflector } from './reflector.ts'
import { SilenceGuard } from './silence-guard.ts'
import { decimalVersionOf, type WatchEvent } from './watch-event.ts'
import { WatchInterruptedError } from './watch-interrupted-error.ts'
import type { WatchSubscription } from './watch-subscription.ts'

const restores = channel(STORE_RESTORED_CHANNEL)

/** Refusals that another attempt does not change. */
const LASTING: readonly LockFailure[] = ['forbidden', 'not-found']

/** What an {@link ObjectWatch} needs. */
export interface ObjectWatchOptions {
  readonly kubeConfig: KubeConfigSource
  readonly userAgent: string
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  /** What is watched: one object, or all objects of a resource in a namespace. */
  readonly selection: ObjectSelection
  /**
   * Called when the server forbids the watch or does not serve the resource. Resolves with true when the subscriptions were taken over
   * or ended.
   */
  readonly onRefused?: (error: ApiRequestError) => Promise<boolean>
}

/**
 * Follows single objects of one resource and namespace over one {@link Reflector}, and keeps nothing of other objects.
 *
 * Owns its transport. Does not poll in place of a broken watch: `down` tells the observers to do that.
 *
 * 1. No state of an object goes unseen forever: a subscription that a list did not cover is read once, or is part of the next list.
 * 2. Lists are consistent reads. An older version of an object than the known one shows that the store was restored from a backup;
 *    versions then start again from there.
 * 3. A routine end of a stream is not `down`; a failed attempt to connect is.
 */
export class ObjectWatch {
  readonly #options: ObjectWatchOptions
  readonly #transport: ApiTransport
  readonly #reflector: Reflector
  readonly #subscriptions = new Map<string, Set<WatchSubscription>>()
  readonly #joining = new Set<Promise<void>>()
  readonly #stopping = new AbortController()
  #running: Promise<void> = Promise.resolve()
  #closing: Promise<void> | undefined
  #isFollowing = false
  /** Why the watch is disconnected, as logged last; undefined while it is connected. */
  #downBecause: string | undefined
  /** The newest known version of the store. */
  #newest = 0n
  #silenceMs = Number.POSITIVE_INFINITY

  private constructor(options: ObjectWatchOptions) {
    this.#options = options
    const { kubeConfig, userAgent, clock, random } = options
    this.#transport = new ApiTransport({ kubeConfig, userAgent, clock })
    this.#reflector = new Reflector({ transport: this.#transport, clock, random, feed: this.#feed() })
  }

  /** Begins to follow. No observer is called before this returns. */
  static start(options: ObjectWatchOptions, subscriptions: Iterable<WatchSubscription>): ObjectWatch {
    const watch = new ObjectWatch(options)
    for (const subscription of subscriptions) watch.#enter(subscription)
    watch.#running = watch.#reflector.run(watch.#stopping.signal)
    return watch
  }

  /** Follows one more object. */
  add(subscription: WatchSubscription): void {
    this.#enter(subscription)
    const { following } = this.#reflector
    // Before the list, nothing is to be done: the list will show the object.
    if (following === undefined) return
    const joining = this.#join(subscription, following).finally(() => this.#joining.delete(joining))
    this.#joining.add(joining)
  }

  /** Forgets an object. Returns whether any subscription is left. */
  remove(subscription: WatchSubscription): 'empty' | 'in-use' {
    const ofName = this.#subscriptions.get(subscription.name)
    ofName?.delete(subscription)
    if (ofName?.size === 0) this.#subscriptions.delete(subscription.name)
    return this.#subscriptions.size === 0 ? 'empty' : 'in-use'
  }

  /** All subscriptions. */
  get subscriptions(): readonly WatchSubscription[] {
    return [...this.#subscriptions.values()].flatMap((ofName) => [...ofName])
  }

  /** Stops; resolves when the connections are closed. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#stopping.abort()
    await Promise.all([this.#transport.close(), this.#running, ...this.#joining])
  }

  #feed(): ReflectorFeed {
    const { onRefused } = this.#options
    return {
      openTimeoutMs: () => this.#silenceMs,
      list: (signal) => this.#list(signal),
      watch: (version, signal) => this.#watch(version, signal),
      // The guard polls the store as soon as the stream is open.
      wentBack: () => Promise.resolve(false),
      opened: (context) => this.#opened(context),
      take: (event) => this.#take(event),
      recovered: () => this.#recovered(),
      // A server can refuse a version in more than one way. Only throttling says nothing about the version.
      needsList: ({ statusCode }) => statusCode !== undefined && statusCode !== 429,
      handles: async (refusal) => LASTING.includes(refusal.failure) && (await onRefused?.(refusal)) === true,
      failed: (failure) => this.#failed(failure),
    }
  }

  #enter(subscription: WatchSubscription): void {
    const ofName = this.#subscriptions.get(subscription.name) ?? new Set()
    this.#subscriptions.set(subscription.name, ofName.add(subscription))
    this.#silenceMs = Math.min(this.#silenceMs, subscription.silenceMs)
  }

  /** Reads an object that the last list did not cover. The stream shows everything after that. */
  async #join(subscription: WatchSubscription, following: AbortSignal): Promise<void> {
    const { name } = subscription
    try {
      const listing = await this.#read({ ...this.#options.selection, name }, this.#silenceMs, following)
      subscription.streamed(listing.only(() => true).get(name) ?? listing.absent)
      if (this.#isFollowing) subscription.up()
    } catch {
      this.#reflector.listAgain()
    }
  }

  /** Logs an outage when it begins and when its cause changes. */
  #failed(failure: Error): void {
    const { logger, selection } = this.#options
    const { namespace, name } = selection
    if (this.#downBecause !== failure.message) {
      logger.warn(
        { event: 'watch-down', namespace, lease: name, err: failure },
        `the watch is disconnected: ${failure.message}`,
      )
    }
    this.#downBecause = failure.message
    for (const subscription of this.subscriptions) subscription.down(failure)
  }

  #recovered(): void {
    if (this.#downBecause === undefined) return
    const { logger, selection } = this.#options
    this.#downBecause = undefined
    logger.info(
      { event: 'watch-up', namespace: selection.namespace, lease: selection.name },
      'the watch is connected again',
    )
  }

  /** Lists instead of reading: a read of an absent object does not return the version of the store. */
  async #read(selection: ObjectSelection, timeoutMs: number, signal: AbortSignal): Promise<Listing> {
    const { clock } = this.#options
    const answer = await withDeadline({ clock, timeoutMs, signal }, (bounded) =>
      this.#transport.send(listObjects(selection, bounded)),
    )
    return Listing.parse(answer)
  }

  async #list(signal: AbortSignal): Promise<ReflectedList> {
    const before = this.#known()
    const listing = await this.#read(this.#options.selection, this.#silenceMs, signal)
    const seen = this.#seenIn(listing)
    const accept = () => {
      if (listing.version < this.#newest || isOlder(seen, before)) this.#startAgain(listing.version)
      this.#newest = listing.version
      for (const [subscription, object] of seen) subscription.listed(object)
    }
    return { version: String(listing.version), accept }
  }

  /** The store was restored. Logged, because everything else in the store went back as well. */
  #startAgain(version: bigint): void {
    const { logger, selection } = this.#options
    const { namespace, name } = selection
    logger.warn(
      { event: 'store-restored', namespace, lease: name },
      `the store is at version ${version}, below the known version ${this.#newest}, as after a restore from a backup`,
    )
    restores.publish({ namespace, name })
    for (const subscription of this.subscriptions) subscription.restored()
  }

  #watch(version: string, signal: AbortSignal): ApiRequest {
    const { random, selection } = this.#options
    return watchObjects(selection, { version, spread: random() }, signal)
  }

  #opened({ isInDoubt, lost, signal }: StreamContext): StreamGuard {
    const guard = this.#createGuard(signal, lost)
    this.#isFollowing = true
    for (const subscription of this.subscriptions) subscription.up()
    if (isInDoubt) guard.startWithPoll()
    else guard.start()
    return {
      heard: () => guard.heard(),
      stop: () => {
        this.#isFollowing = false
        guard.stop()
      },
    }
  }

  #take(event: WatchEvent): void {
    const version = decimalVersionOf(event)
    if (event.kind !== 'progress') {
      const seen = observedIn(event, version)
      for (const subscription of this.#subscriptions.get(nameOf(event.object) ?? '') ?? []) subscription.streamed(seen)
    }
    if (version > this.#newest) this.#newest = version
  }

  #createGuard(signal: AbortSignal, lost: (cause: Error) => void): SilenceGuard {
    const silenceMs = this.#silenceMs
    return new SilenceGuard({
      clock: this.#options.clock,
      silenceMs,
      poll: (timeoutMs) => this.#poll(timeoutMs, signal),
      isBehind: () => this.#isBehind,
      lost: (cause) => lost(cause === 'behind' ? silent(silenceMs) : cause),
    })
  }

  async #poll(timeoutMs: number, signal: AbortSignal): Promise<'in-step' | 'behind'> {
    const [newest, before] = [this.#newest, this.#known()]
    const listing = await this.#read(this.#options.selection, timeoutMs, signal)
    const seen = this.#seenIn(listing)
    if (listing.version < newest || isOlder(seen, before)) this.#reflector.listAgain()
    else for (const [subscription, object] of seen) subscription.polled(object)
    return this.#isBehind ? 'behind' : 'in-step'
  }

  get #isBehind(): boolean {
    return this.subscriptions.some((subscription) => subscription.isBehind)
  }

  /** The known version of each object. A list that is requested now cannot be older. */
  #known(): ReadonlyMap<WatchSubscription, bigint> {
    return new Map(this.subscriptions.map((subscription) => [subscription, subscription.newest]))
  }

  /** The state of each subscribed object in a list. */
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

function silent(silenceMs: number): WatchInterruptedError {
  return new WatchInterruptedError(`Something changed but the watch was silent for ${silenceMs} ms`)
}
