import type { Clock } from '@tenure/core'
import { errorOf, onAbort, type Random } from '@tenure/core/internal'
import { ApiRequestError } from '../client/api-request-error.ts'
import type { ApiRequest, ApiTarget } from '../client/api-request.ts'
import type { ApiStream, ApiTransport } from '../client/api-transport.ts'
import { LineDecoder } from './line-decoder.ts'
import { pause } from './pause.ts'
import { ReconnectBackoff } from './reconnect-backoff.ts'
import type { ReflectorFeed } from './reflector-feed.ts'
import { parseWatchEvent, type WatchEvent } from './watch-event.ts'
import { WatchInterruptedError } from './watch-interrupted-error.ts'

/** A stream that ends sooner counts as a failure. Otherwise a server that ends every watch would get requests at full speed. */
const MIN_STREAM_MS = 1000

const GONE = 410

/** What a {@link Reflector} needs. */
export interface ReflectorOptions {
  readonly transport: Pick<ApiTransport, 'open'>
  readonly clock: Clock
  readonly random: Random
  readonly feed: ReflectorFeed
}

interface OpenStream {
  readonly stream: ApiStream
  readonly target: ApiTarget
  /** Aborts to end the stream. */
  readonly session: AbortController
}

/**
 * Lists a collection, watches it from the version of the list, and connects again when the stream ends or breaks. The lease watch and
 * the informer both use it.
 *
 * Owns one list or stream at a time. Does not own the transport.
 *
 * 1. A stream resumes after the last version that a stream or a list showed. The reflector lists again only when the server no longer
 *    keeps that version, when the store went back, or when the feed asks for it.
 * 2. The end of a healthy stream is routine: the reflector reconnects at once and reports nothing. A stream is healthy if it lasted at
 *    least a second and its guard did not end it. Only a healthy stream resets the backoff.
 * 3. After the signal aborts, the feed gets no event.
 */
export class Reflector {
  readonly #options: ReflectorOptions
  readonly #backoff: ReconnectBackoff
  #session: AbortController | undefined
  #version: string | undefined
  /** Whether the connection was lost, so that the store may have been restored from a backup meanwhile. */
  #isInDoubt = false
  /** Ends the present pause. */
  #hurry: () => void = () => {}

  constructor(options: ReflectorOptions) {
    this.#options = options
    this.#backoff = new ReconnectBackoff(options.random)
  }

  /** Works until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const failure = await this.#attempt(signal)
      if (failure !== undefined && !signal.aborted) await this.#recover(failure, signal)
    }
  }

  /** The signal of the stream that continues the last list; undefined while a list is still to come. */
  get following(): AbortSignal | undefined {
    return this.#version === undefined ? undefined : this.#session?.signal
  }

  /** Ends the stream and lists again. */
  listAgain(): void {
    this.#version = undefined
    this.#session?.abort(new ListAgain())
  }

  /** Ends a pause before the next attempt: the server has just answered another request. A pause that the server asked for stays. */
  hurry(): void {
    this.#hurry()
  }

  /** Lists if necessary, then follows until the stream ends. Resolves with the cause, unless the end was routine. */
  async #attempt(signal: AbortSignal): Promise<Error | undefined> {
    const session = new AbortController()
    const removeListener = onAbort(signal, () => session.abort(signal.reason))
    this.#session = session
    try {
      const version = await this.#start(session.signal)
      session.signal.throwIfAborted()
      const request = this.#options.feed.watch(version, session.signal)
      const stream = await this.#open(request, session)
      return await this.#follow({ stream, target: request.target, session })
    } catch (error) {
      const cause = causeOf(error, session.signal)
      return cause instanceof ListAgain ? undefined : cause
    } finally {
      removeListener()
      session.abort()
    }
  }

  async #recover(failure: Error, signal: AbortSignal): Promise<void> {
    const { feed } = this.#options
    const refusal = failure instanceof ApiRequestError ? failure : undefined
    if (refusal !== undefined) {
      if (await feed.handles(refusal)) return
      if (feed.needsList(refusal)) this.#version = undefined
    }
    this.#isInDoubt = true
    // An outdated version is routine the first time: the next attempt lists.
    if (refusal?.statusCode !== GONE || !this.#backoff.fresh) feed.failed(failure)
    await this.#pause(this.#backoff.next(), refusal?.retryAfterMs ?? 0, signal)
  }

  async #pause(pauseMs: number, askedMs: number, signal: AbortSignal): Promise<void> {
    const pausing = new AbortController()
    const forget = onAbort(signal, () => pausing.abort())
    if (askedMs === 0) this.#hurry = () => pausing.abort()
    await pause(Math.max(pauseMs, askedMs), this.#options.clock, pausing.signal)
    forget()
  }

  /** Resolves with the version to watch from. */
  async #start(signal: AbortSignal): Promise<string> {
    const { feed } = this.#options
    const known = this.#version
    if (known !== undefined && !(this.#isInDoubt && (await feed.wentBack(known, signal)))) return known
    const { version, accept } = await feed.list(signal)
    signal.throwIfAborted()
    this.#isInDoubt = false
    // Before `accept`: a subscriber that arrives meanwhile is not in this list and must not wait for another one.
    this.#version = version
    accept()
    return version
  }

  async #open(request: ApiRequest, session: AbortController): Promise<ApiStream> {
    const { clock, feed, transport } = this.#options
    const timeoutMs = feed.openTimeoutMs()
    const timer = clock.setTimer(timeoutMs, () => {
      session.abort(new WatchInterruptedError(`The server did not answer the watch within ${timeoutMs} ms`))
    })
    try {
      return await transport.open(request)
    } finally {
      timer.cancel()
    }
  }

  async #follow({ stream, target, session }: OpenStream): Promise<Error | undefined> {
    const { clock, feed } = this.#options
    const { signal } = session
    const openedAt = clock.now()
    let isLost = false
    const isHealthy = () => !isLost && clock.now() - openedAt >= MIN_STREAM_MS
    const lost = (cause: Error) => {
      isLost = true
      session.abort(cause)
    }
    const guard = feed.opened({ signal, isInDoubt: this.#isInDoubt, lost })
    this.#isInDoubt = false
    const recovery = this.#backoff.fresh ? undefined : clock.setTimer(MIN_STREAM_MS, () => feed.recovered())
    const decoder = new LineDecoder()
    try {
      await stream.read((chunk) => {
        guard.heard()
        for (const line of decoder.push(chunk)) if (!signal.aborted) this.#take(parseWatchEvent(line, target))
      })
    } finally {
      recovery?.cancel()
      guard.stop()
      stream.close()
      if (isHealthy()) this.#backoff.reset()
    }
    return isHealthy() ? undefined : new WatchInterruptedError('The server ended the watch at once')
  }

  #take(event: WatchEvent): void {
    this.#options.feed.take(event)
    // Undefined if the feed asked for a list while it took the event.
    if (this.#version !== undefined) this.#version = event.version
  }
}

/** Ends a stream so that the next attempt lists. Not a failure. */
class ListAgain extends Error {}

/** The reason for the end of a session says more than the error of the request that was aborted with it. */
function causeOf(error: unknown, session: AbortSignal): Error {
  if (session.aborted && session.reason instanceof Error) return session.reason
  return errorOf(error)
}
