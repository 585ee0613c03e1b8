import type { Clock, LockObserver, LockWatch, Random } from '@tenure/core'
import { LockRequestError } from '@tenure/core'
import { nameOf, parseLease, parseVersion } from '../lease/lease-object.ts'
import { listLease, watchLease, type LeaseReference } from '../lease/lease-requests.ts'
import { ApiRequestError } from '../transport/api-request-error.ts'
import { ApiTransport, type ApiStream, type KubeConfigSource } from '../transport/api-transport.ts'
import { isJsonObject } from '../transport/json-object.ts'
import { withDeadline } from '../transport/deadline.ts'
import { LineDecoder } from './line-decoder.ts'
import { isNews, OrderedObserver, type ObservedLease } from './ordered-observer.ts'
import { ReconnectBackoff } from './reconnect-backoff.ts'
import { SilenceGuard } from './silence-guard.ts'
import { parseWatchEvent } from './watch-event.ts'
import { WatchInterruptedError } from './watch-interrupted-error.ts'

/** A stream that ends sooner is taken for a failure, so that a server that ends every watch is not asked again at full speed. */
const SHORTEST_STREAM_MS = 1000

/** What a {@link LeaseWatch} needs. */
export interface LeaseWatchOptions extends LeaseReference {
  readonly kubeConfig: KubeConfigSource
  readonly userAgent: string
  readonly silenceMs: number
  readonly clock: Clock
  readonly random: Random
  readonly observer: LockObserver
  /** Called when the watch is closed and its connections are gone. */
  readonly onClosed: () => void
}

/**
 * Follows one lease: lists it, watches from the version of the list, and connects again when the stream ends or breaks.
 *
 * Owns its transport, one stream at a time, and the timers that judge it. Does not poll in place of a broken watch; that is
 * what `down` tells the observer to do.
 *
 * 1. A stream resumes after the last version that was seen on a stream or in a list; only a version that the server no longer
 *    keeps makes it list again. So no state of the lease goes unseen for good.
 * 2. The observer gets versions in ascending order, and nothing after `close` was called.
 * 3. A routine end of a stream is not `down`; a failed attempt to connect is.
 */
export class LeaseWatch implements LockWatch {
  readonly #options: LeaseWatchOptions
  readonly #transport: ApiTransport
  readonly #observer: OrderedObserver
  readonly #backoff: ReconnectBackoff
  readonly #stopping = new AbortController()
  #running: Promise<void> = Promise.resolve()
  #closing: Promise<void> | undefined
  #resumeAfter: bigint | undefined
  /** The lease as the stream or a list gave it; a poll may have seen more. */
  #streamed: ObservedLease | undefined
  #polled: ObservedLease | undefined

  private constructor(options: LeaseWatchOptions) {
    this.#options = options
    this.#transport = new ApiTransport(options)
    this.#observer = new OrderedObserver(options.observer)
    this.#backoff = new ReconnectBackoff(options.random)
  }

  /** Begins to follow. The observer is not called before this returns. */
  static start(options: LeaseWatchOptions): LeaseWatch {
    const watch = new LeaseWatch(options)
    watch.#running = watch.#run()
    return watch
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#observer.close()
    this.#stopping.abort(new WatchInterruptedError('The watch is closed'))
    await Promise.all([this.#transport.close(), this.#running])
    this.#options.onClosed()
  }

  async #run(): Promise<void> {
    const stop = this.#stopping.signal
    while (!stop.aborted) {
      const failure = await this.#attempt()
      if (failure !== undefined && !stop.aborted) await this.#recover(failure)
    }
  }

  /** Follows until the stream ends. Returns why, unless it was routine. */
  async #attempt(): Promise<Error | undefined> {
    const session = new AbortController()
    const onStop = () => session.abort(this.#stopping.signal.reason)
    this.#stopping.signal.addEventListener('abort', onStop, { once: true })
    try {
      const from = (this.#resumeAfter ??= await this.#list(session.signal))
      const stream = await this.#open(from, session)
      return await this.#follow(stream, session)
    } catch (error) {
      return causeOf(error, session.signal)
    } finally {
      this.#stopping.signal.removeEventListener('abort', onStop)
      session.abort()
    }
  }

  async #recover(failure: Error): Promise<void> {
    const statusCode = failure instanceof ApiRequestError ? failure.statusCode : undefined
    const gone = statusCode === 410
    // A server that answers but does not serve from that version gets another one; there is more than one way to say it.
    if (statusCode !== undefined && statusCode !== 429) this.#resumeAfter = undefined
    // To list again is all that an outdated version takes, once.
    if (!gone || !this.#backoff.fresh) this.#observer.down(failure)
    const retryAfterMs = failure instanceof LockRequestError ? (failure.retryAfterMs ?? 0) : 0
    await this.#pause(Math.max(this.#backoff.next(), retryAfterMs))
  }

  async #pause(delayMs: number): Promise<void> {
    if (delayMs === 0) return
    const { signal } = this.#stopping
    await new Promise<void>((resolve) => {
      const timer = this.#options.clock.setTimer(delayMs, () => {
        signal.removeEventListener('abort', onStop)
        resolve()
      })
      const onStop = () => {
        timer.cancel()
        resolve()
      }
      signal.addEventListener('abort', onStop, { once: true })
    })
  }

  /** Reads the lease with the version of the store, which a plain read does not give for an absent one. */
  async #read(timeoutMs: number, signal: AbortSignal): Promise<{ lease: ObservedLease; version: bigint }> {
    const answer = await withDeadline({ clock: this.#options.clock, timeoutMs, signal }, (bounded) =>
      this.#transport.send(listLease(this.#options, bounded)),
    )
    const version = parseVersion(answer)
    if (version === undefined) throw new WatchInterruptedError('The list of leases has no decimal resource version')
    return { lease: findLease(answer, this.#options.name) ?? { kind: 'absent', version }, version }
  }

  async #list(signal: AbortSignal): Promise<bigint> {
    const { lease, version } = await this.#read(this.#options.silenceMs, signal)
    const seen = this.#streamed?.version ?? 0n
    if (version < seen) throw new WatchInterruptedError(`The store went back from version ${seen} to ${version}`)
    this.#streamed = lease
    this.#observer.changed(lease)
    return version
  }

  async #open(version: bigint, session: AbortController): Promise<ApiStream> {
    const { clock, random, silenceMs } = this.#options
    const timer = clock.setTimer(silenceMs, () => {
      session.abort(new WatchInterruptedError(`The watch was not answered within ${silenceMs} ms`))
    })
    try {
      return await this.#transport.open(watchLease(this.#options, { version, spread: random() }, session.signal))
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
    this.#observer.up()
    guard.start()
    try {
      for await (const chunk of stream.chunks) {
        guard.heard()
        for (const line of decoder.push(chunk)) this.#take(line)
      }
    } finally {
      guard.stop()
      stream.close()
      routine = clock.now() - openedAt >= SHORTEST_STREAM_MS
      if (routine) this.#backoff.reset()
    }
    return routine ? undefined : new WatchInterruptedError('The server ended the watch at once')
  }

  #take(line: string): void {
    const { name, namespace } = this.#options
    const target = { verb: 'watch', group: 'coordination.k8s.io', resource: 'leases', namespace, name }
    const event = parseWatchEvent(line, target)
    if (event.kind === 'lease') {
      this.#streamed = event.lease
      this.#observer.changed(event.lease)
    }
    this.#resumeAfter = event.kind === 'lease' ? event.lease.version : event.version
  }

  #createGuard(session: AbortController): SilenceGuard {
    const { clock, silenceMs } = this.#options
    return new SilenceGuard({
      clock,
      silenceMs,
      poll: async (timeoutMs) => {
        this.#polled = (await this.#read(timeoutMs, session.signal)).lease
        this.#observer.changed(this.#polled)
        return this.#isBehind() ? 'behind' : 'in-step'
      },
      isBehind: () => this.#isBehind(),
      lost: (cause) => session.abort(cause === 'behind' ? silent(silenceMs) : cause),
    })
  }

  #isBehind(): boolean {
    return this.#polled !== undefined && isNews(this.#polled, this.#streamed)
  }
}

/** @throws WatchInterruptedError when the answer is no list, or the lease in it has no version: that is not the same as absent */
function findLease(list: unknown, name: string): ObservedLease | undefined {
  const items = isJsonObject(list) ? list['items'] : undefined
  if (!Array.isArray(items)) throw new WatchInterruptedError('The list of leases has no items')
  const found: unknown = items.find((item) => nameOf(item) === name)
  if (found === undefined) return undefined
  const lease = parseLease(found)
  if (lease === undefined) throw new WatchInterruptedError(`The lease ${name} has no decimal resource version`)
  return lease
}

function silent(silenceMs: number): WatchInterruptedError {
  return new WatchInterruptedError(`The lease changed but the watch was silent for ${silenceMs} ms`)
}

/** What ended the session says more than what the aborted request makes of it. */
function causeOf(error: unknown, session: AbortSignal): Error {
  if (session.aborted && session.reason instanceof Error) return session.reason
  return error instanceof Error ? error : new Error(String(error))
}
