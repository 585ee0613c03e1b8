import type { Clock } from '@tenure/core'
import type { Random, Timer } from '@tenure/core/internal'
import type { Connection } from '../client/connection.ts'
import { withDeadline } from '../client/deadline.ts'
import { listObjects, watchObjects } from '../client/object-requests.ts'
import type { ObjectSelection } from '../client/resource.ts'
import { Listing } from './listing.ts'
import { type ObservedObject, observedIn } from './observed-object.ts'
import type { ReflectedList, ReflectorFeed, StreamContext, StreamGuard } from './reflector-feed.ts'
import { nameOf } from '../client/object-metadata.ts'
import { Reflector } from './reflector.ts'
import { decimalVersionOf, type WatchEvent } from './watch-event.ts'
import { WatchInterruptedError } from './watch-interrupted-error.ts'

/** A watch that lasts this much longer than the longest that was requested counts as dead. */
const LONGEST_STREAM_MS = (480 + 30) * 1000

/** Receives the objects of a {@link CollectionWatch}. */
export interface CollectionObserver {
  /** A complete list. Whatever is not in it does not exist. Lists also follow each lost connection. */
  readonly listed: (objects: ReadonlyMap<string, ObservedObject>, version: bigint) => void
  /** One object changed, in the order of versions. */
  readonly changed: (name: string, seen: ObservedObject) => void
  /** The watch follows the last list. */
  readonly up: () => void
  /** The watch is disconnected. Changes may go unreported until the next list. */
  readonly down: (cause: Error) => void
}

/** What a {@link CollectionWatch} needs. */
export interface CollectionWatchOptions {
  readonly connection: Connection
  readonly clock: Clock
  readonly random: Random
  readonly selection: ObjectSelection
  /** Time within which the server must answer, and within which a write must show up. Milliseconds. */
  readonly silenceMs: number
  readonly observer: CollectionObserver
}

/**
 * Follows all objects of a selection whose names nobody knows before, over one {@link Reflector}. Does not own the connection.
 *
 * 1. After a lost connection it lists again with a consistent read, so a store that went back is seen as it is.
 * 2. A stream that does not show a write of this process in time is dead: see {@link expect}.
 */
export class CollectionWatch {
  readonly #options: CollectionWatchOptions
  readonly #reflector: Reflector
  #newest = 0n
  /** How many lists were requested, and the last of them that was reported. */
  #requested = 0
  #reported = 0
  /** The version that the stream must show. */
  #expected = 0n
  #timer: Timer | undefined
  #stream: StreamContext | undefined

  constructor(options: CollectionWatchOptions) {
    this.#options = options
    const { connection, clock, random } = options
    this.#reflector = new Reflector({ transport: connection, clock, random, feed: this.#feed() })
  }

  /** Follows until the signal aborts. */
  run(signal: AbortSignal): Promise<void> {
    return this.#reflector.run(signal)
  }

  /**
   * A write of this process to an object of the selection got this version. If the stream does not show it in time, it is dead. If there is
   * none, the next attempt to connect begins now.
   */
  expect(version: bigint): void {
    if (version > this.#expected) this.#expected = version
    this.#reflector.hurry()
    if (this.#stream === undefined || this.#newest >= this.#expected || this.#timer !== undefined) return
    const { clock, silenceMs } = this.#options
    const wanted = this.#expected
    this.#timer = clock.setTimer(silenceMs, () => {
      this.#timer = undefined
      if (this.#newest < wanted) {
        this.#stream?.lost(new WatchInterruptedError(`Something changed but the watch was silent for ${silenceMs} ms`))
      } else this.expect(this.#expected)
    })
  }

  /** Reads the selection again, with a consistent read. @throws ApiRequestError */
  async read(signal: AbortSignal): Promise<Listing> {
    const { clock, connection, selection, silenceMs } = this.#options
    const answer = await withDeadline({ clock, timeoutMs: silenceMs, signal }, (bounded) =>
      connection.send(listObjects(selection, bounded)),
    )
    return Listing.parse(answer)
  }

  /** Reads the selection again, and reports the list unless a later one was reported meanwhile. @throws ApiRequestError */
  async refresh(signal: AbortSignal): Promise<void> {
    const { report } = await this.#request(signal)
    signal.throwIfAborted()
    report()
  }

  #feed(): ReflectorFeed {
    const { observer, random, selection, silenceMs } = this.#options
    return {
      openTimeoutMs: () => silenceMs,
      list: (signal) => this.#list(signal),
      watch: (version, signal) => watchObjects(selection, { version, spread: random() }, signal),
      // A list follows every failure.
      wentBack: () => Promise.resolve(true),
      opened: (context) => this.#opened(context),
      take: (event) => this.#take(event),
      recovered: () => {},
      needsList: () => true,
      handles: () => Promise.resolve(false),
      failed: (failure) => observer.down(failure),
    }
  }

  async #list(signal: AbortSignal): Promise<ReflectedList> {
    const { version, report } = await this.#request(signal)
    const accept = () => {
      this.#newest = version
      report()
    }
    return { version: String(version), accept }
  }

  /** An answer that is overtaken by a later one must not look like a store that went back. */
  async #request(signal: AbortSignal): Promise<{ readonly version: bigint; readonly report: () => void }> {
    const order = ++this.#requested
    const listing = await this.read(signal)
    const report = () => {
      if (order < this.#reported) return
      this.#reported = order
      this.#options.observer.listed(
        listing.only(() => true),
        listing.version,
      )
    }
    return { version: listing.version, report }
  }

  #opened(context: StreamContext): StreamGuard {
    this.#stream = context
    // What was written before the list is in the list, even if the store went back.
    this.#expected = this.#newest
    const timer = this.#options.clock.setTimer(LONGEST_STREAM_MS, () => {
      context.lost(new WatchInterruptedError('The server did not end the watch in time'))
    })
    this.#options.observer.up()
    return {
      heard: () => {},
      stop: () => {
        timer.cancel()
        this.#timer?.cancel()
        this.#timer = undefined
        this.#stream = undefined
      },
    }
  }

  #take(event: WatchEvent): void {
    const version = decimalVersionOf(event)
    this.#newest = version
    if (event.kind === 'progress') return
    const name = nameOf(event.object)
    if (name !== undefined) this.#options.observer.changed(name, observedIn(event, version))
  }
}
