import { isNews, type ObjectObserver, type ObservedObject, type Sighting } from './observed-object.ts'
import { WatchInterruptedError } from './watch-interrupted-error.ts'

/** Options of a {@link WatchSubscription}. */
export interface WatchSubscriptionOptions {
  /** The name of the object. */
  readonly name: string
  /** The time within which silence must be noticed, in milliseconds. */
  readonly silenceMs: number
  readonly observer: ObjectObserver
  /** Whether the observer does without the object if the server forbids the watch or does not serve the resource. @default false */
  readonly isOptional?: boolean
}

/**
 * One object that a watch follows for one observer. Survives a change of the watch that serves it.
 *
 * 1. The observer gets versions in ascending order, from streams, lists and polls alike, unless the store went back.
 * 2. `up` and `down` alternate. While it is up, the observer gets every change. It gets nothing after {@link WatchSubscription.close}.
 * 3. An exception of the observer surfaces as uncaught and does not reach the watch.
 */
export class WatchSubscription {
  readonly name: string
  readonly silenceMs: number
  readonly isOptional: boolean
  readonly #observer: ObjectObserver
  #connection: 'new' | 'up' | 'down' | 'closed' = 'new'
  #reported: Sighting | undefined
  /** The object as a stream or a list showed it; a poll may have seen more. */
  #streamed: Sighting | undefined
  #polled: Sighting | undefined

  constructor({ name, silenceMs, observer, isOptional = false }: WatchSubscriptionOptions) {
    this.name = name
    this.silenceMs = silenceMs
    this.isOptional = isOptional
    this.#observer = observer
  }

  /** Whether a poll saw something that the stream has not shown. */
  get isBehind(): boolean {
    return this.#polled !== undefined && isNews(this.#polled, this.#streamed)
  }

  /** The newest known version of the object, its absence included. */
  get newest(): bigint {
    const [streamed, polled] = [this.#streamed?.version ?? 0n, this.#polled?.version ?? 0n]
    return streamed > polled ? streamed : polled
  }

  /** A list showed the object, and a stream will continue it. What happened since the stream before may have been missed. */
  listed(seen: ObservedObject): void {
    if (this.#connection === 'up') this.down(new WatchInterruptedError('The watch starts again from a list'))
    this.streamed(seen)
  }

  /** The stream showed the object. */
  streamed(seen: ObservedObject): void {
    this.#streamed = { kind: seen.kind, version: seen.version }
    this.#report(seen)
  }

  /** A poll showed the object. If the stream has not shown it yet, the versions before it are never reported. */
  polled(seen: ObservedObject): void {
    this.#polled = { kind: seen.kind, version: seen.version }
    const skips = this.#connection === 'up' && isNews(seen, this.#reported)
    if (skips) this.down(new WatchInterruptedError('The watch lags behind the store'))
    this.#report(seen)
    if (skips) this.up()
  }

  /** The store went back: earlier versions no longer count. */
  restored(): void {
    this.#streamed = undefined
    this.#polled = undefined
    this.#reported = undefined
  }

  up(): void {
    if (this.#connection === 'closed' || this.#connection === 'up') return
    this.#connection = 'up'
    surface(() => this.#observer.up())
  }

  down(cause: Error): void {
    if (this.#connection === 'closed' || this.#connection === 'down') return
    this.#connection = 'down'
    surface(() => this.#observer.down(cause))
  }

  /** The observer gets no further call. */
  close(): void {
    this.#connection = 'closed'
  }

  #report(seen: ObservedObject): void {
    if (this.#connection === 'closed' || !isNews(seen, this.#reported)) return
    this.#reported = { kind: seen.kind, version: seen.version }
    surface(() => this.#observer.changed(seen))
  }
}

function surface(call: () => void): void {
  try {
    call()
  } catch (error) {
    queueMicrotask(() => {
      throw error
    })
  }
}
