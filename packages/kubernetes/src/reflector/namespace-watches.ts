import type { ApiRequestError } from '../client/api-request-error.ts'
import { describeTarget } from '../client/api-request.ts'
import type { ApiTransport } from '../client/api-transport.ts'
import { withDeadline } from '../client/deadline.ts'
import { listObjects, target } from '../client/object-requests.ts'
import type { ObjectSelection } from '../client/resource.ts'
import { ObjectWatch, type ObjectWatchOptions } from './object-watch.ts'
import { WatchSubscription, type WatchSubscriptionOptions } from './watch-subscription.ts'

/** What {@link NamespaceWatches} needs. */
export interface NamespaceWatchesOptions extends Omit<ObjectWatchOptions, 'selection' | 'onRefused'> {
  /** A resource in a namespace. */
  readonly collection: ObjectSelection
  /** Sends the single requests that find out which watches are allowed. */
  readonly transport: ApiTransport
}

/** One observer's part in a watch. */
export interface ObjectSubscription {
  /** Stops all calls of the observer at once. Resolves when the connection is closed, unless other subscriptions use it. */
  close(): Promise<void>
}

/**
 * Follows objects of one resource and namespace with as few watches as possible.
 *
 * The first object is watched by its name, which needs permissions on that object only. Once there is a second object, one watch of the
 * whole namespace serves all later subscriptions. If the server forbids that watch but not the single one, each object gets its own
 * watch from then on.
 */
export class NamespaceWatches {
  readonly #options: NamespaceWatchesOptions
  readonly #waiting = new Set<WatchSubscription>()
  readonly #watchOf = new Map<WatchSubscription, ObjectWatch>()
  #closing: Promise<void> = Promise.resolve()
  /** Watches of single objects, by name. */
  readonly #singles = new Map<string, ObjectWatch>()
  #shared: ObjectWatch | undefined
  #mayShare = true

  constructor(options: NamespaceWatchesOptions) {
    this.#options = options
  }

  /** Starts to follow an object. The observer is not called before this returns. */
  subscribe(options: WatchSubscriptionOptions): ObjectSubscription {
    const subscription = new WatchSubscription(options)
    this.#waiting.add(subscription)
    // Subscriptions of the same turn of the event loop are served together, by the first call.
    queueMicrotask(() => this.#serveWaiting())
    return { close: () => this.#unsubscribe(subscription) }
  }

  /** Ends all watches; resolves when their connections are closed. */
  async close(): Promise<void> {
    const watches = new Set(this.#watchOf.values())
    for (const subscription of [...this.#waiting, ...this.#watchOf.keys()]) subscription.close()
    this.#waiting.clear()
    this.#watchOf.clear()
    this.#singles.clear()
    this.#shared = undefined
    for (const watch of watches) void this.#end(watch)
    await this.#closing
  }

  async #unsubscribe(subscription: WatchSubscription): Promise<void> {
    subscription.close()
    this.#waiting.delete(subscription)
    const watch = this.#watchOf.get(subscription)
    this.#watchOf.delete(subscription)
    if (watch?.remove(subscription) !== 'empty') return
    if (watch === this.#shared) this.#shared = undefined
    else this.#singles.delete(subscription.name)
    await this.#end(watch)
  }

  #serveWaiting(): void {
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    if (this.#mayShare && this.#isWorthSharing(waiting)) this.#share(waiting)
    else for (const subscription of waiting) this.#watchAlone(subscription)
  }

  #isWorthSharing(waiting: readonly WatchSubscription[]): boolean {
    if (this.#shared !== undefined) return true
    return new Set([...waiting, ...this.#watchOf.keys()].map(({ name }) => name)).size > 1
  }

  #share(subscriptions: readonly WatchSubscription[]): void {
    const shared = this.#shared
    if (shared === undefined) {
      const onRefused = (error: ApiRequestError) => this.#fallBack(error)
      this.#shared = ObjectWatch.start(
        { ...this.#options, selection: this.#options.collection, onRefused },
        subscriptions,
      )
    } else for (const subscription of subscriptions) shared.add(subscription)
    if (this.#shared === undefined) return
    for (const subscription of subscriptions) this.#watchOf.set(subscription, this.#shared)
  }

  #watchAlone(subscription: WatchSubscription): void {
    const { name } = subscription
    const selection = { ...this.#options.collection, name }
    const existing = this.#singles.get(name)
    existing?.add(subscription)
    const onRefused = (error: ApiRequestError) => this.#forgo(name, error)
    const watch = existing ?? ObjectWatch.start({ ...this.#options, selection, onRefused }, [subscription])
    this.#singles.set(name, watch)
    this.#watchOf.set(subscription, watch)
  }

  /** Ends the watch of an object if all its observers do without it. */
  async #forgo(name: string, error: ApiRequestError): Promise<boolean> {
    const watch = this.#singles.get(name)
    if (watch === undefined || !watch.subscriptions.every(({ isOptional }) => isOptional)) return false
    for (const subscription of watch.subscriptions) {
      subscription.down(error)
      void this.#unsubscribe(subscription)
    }
    return true
  }

  /** Gives each object its own watch. Resolves with false if that would be forbidden as well. */
  async #fallBack(error: ApiRequestError): Promise<boolean> {
    const shared = this.#shared
    if (error.failure !== 'forbidden') return false
    const [first] = shared?.subscriptions ?? []
    if (shared === undefined || first === undefined || !(await this.#mayWatchAlone(first))) return false
    if (this.#shared !== shared) return true
    const { collection, logger } = this.#options
    logger.warn(
      { event: 'watch-not-shared', namespace: collection.namespace, err: error },
      `not allowed to ${describeTarget(target('list and watch', { ...collection, name: '*' }))}: each object gets its own watch`,
    )
    this.#mayShare = false
    this.#shared = undefined
    const moved = shared.subscriptions
    void this.#end(shared)
    for (const subscription of moved) this.#watchAlone(subscription)
    return true
  }

  /** If the server forbids this as well, the scope of the shared watch is not the reason. */
  async #mayWatchAlone({ name, silenceMs }: WatchSubscription): Promise<boolean> {
    const { clock, collection, transport } = this.#options
    const { signal } = new AbortController()
    try {
      await withDeadline({ clock, timeoutMs: silenceMs, signal }, (bounded) =>
        transport.send(listObjects({ ...collection, name }, bounded)),
      )
      return true
    } catch {
      return false
    }
  }

  #end(watch: ObjectWatch): Promise<void> {
    const ended = watch.close()
    this.#closing = this.#closing.then(() => ended)
    return ended
  }
}
