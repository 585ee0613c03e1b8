import { isNews, type ObjectObserver, type ObservedObject, type Sighting } from './observed-object.ts'
import { OrderedObserver } from './ordered-observer.ts'

/** Who wants to know of an object. */
export interface WatchSubscriptionOptions {
  /** The name of the object. */
  readonly name: string
  /** The time in which silence must be noticed, in milliseconds. */
  readonly silenceMs: number
  readonly observer: ObjectObserver
}

/** One object that a watch follows on behalf of one observer. Outlives the watch that it is with. */
export class WatchSubscription {
  readonly name: string
  readonly silenceMs: number
  readonly #observer: OrderedObserver
  /** The object as a stream or a list gave it; a poll may have seen more. */
  #streamed: Sighting | undefined
  #polled: Sighting | undefined

  constructor(options: WatchSubscriptionOptions) {
    this.name = options.name
    this.silenceMs = options.silenceMs
    this.#observer = new OrderedObserver(options.observer)
  }

  /** Whether a poll saw something that the stream has not come up with. */
  get isBehind(): boolean {
    return this.#polled !== undefined && isNews(this.#polled, this.#streamed)
  }

  /** The newest version that was seen of the object, its absence included. */
  get newest(): bigint {
    const versions = [this.#streamed?.version ?? 0n, this.#polled?.version ?? 0n]
    return versions.reduce((a, b) => (a > b ? a : b))
  }

  /** The stream, or the list that it goes on from, showed the object. */
  streamed(seen: ObservedObject): void {
    this.#streamed = { kind: seen.kind, version: seen.version }
    this.#observer.changed(seen)
  }

  /** A poll showed the object. */
  polled(seen: ObservedObject): void {
    this.#polled = { kind: seen.kind, version: seen.version }
    this.#observer.changed(seen)
  }

  /** The store went back: nothing that was seen before says anything about it. */
  restored(): void {
    this.#streamed = undefined
    this.#polled = undefined
    this.#observer.restored()
  }

  up(): void {
    this.#observer.up()
  }

  down(cause: Error): void {
    this.#observer.down(cause)
  }

  /** The observer is not called any more. */
  close(): void {
    this.#observer.close()
  }
}
