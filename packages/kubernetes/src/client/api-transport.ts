import type { IncomingMessage } from 'node:http'
import { type Clock } from '@tenure/core'
import { assertKnownKeys, systemClock, textOf } from '@tenure/core/internal'
import { abortable } from './abortable.ts'
import { ApiRequestError } from './api-request-error.ts'
import { describeTarget, isWrite, type ApiRequest } from './api-request.ts'
import { ConnectionPool, type PooledAgent } from './connection-pool.ts'
import type { ConnectionSettings } from './connection-settings.ts'
import { CurrentSettings, type KubeConfigSource } from './current-settings.ts'
import { Exchange } from './exchange.ts'
import { RequestSlots } from './request-slots.ts'
import { statusError } from './status-error.ts'
import { defaultUserAgent } from './user-agent.ts'

/** The number of requests in flight at a time, not counting streams. Further requests wait. */
const MAX_REQUESTS = 24

/** Options of an {@link ApiTransport}. */
export interface ApiTransportOptions {
  /** How to reach the API server: a kubeconfig, or what gets one when the first request is made. */
  readonly kubeConfig: KubeConfigSource
  /** The `User-Agent` header of every request. @default 'tenure/<version> leader-election' */
  readonly userAgent?: string
  /** Measures the age of the credentials. @default the clock of this machine */
  readonly clock?: Clock
}

/** A successful answer whose body is still arriving. */
export interface ApiStream {
  /**
   * Passes the body to `take` as it arrives, and resolves at its end. Call it once. Rejects with an ApiRequestError if the connection
   * breaks, and with what `take` throws.
   */
  read(take: (chunk: Buffer) => void): Promise<void>
  /** Destroys the connection, unless the body was read to its end. */
  close(): void
}

const OPTION_NAMES = ['kubeConfig', 'userAgent', 'clock'] as const satisfies (keyof ApiTransportOptions)[]

/**
 * Sends requests to an API server over connections of its own.
 *
 * Owns its connections. A request lasts until it is answered, fails, or its signal aborts. It uses credentials that were read from the
 * kubeconfig at most 5 s ago. If the server refuses them, the transport reads files and runs plugins again and repeats the request.
 * Every failure is an {@link ApiRequestError} that says whether the request can have taken effect.
 */
export class ApiTransport {
  readonly #current: CurrentSettings
  readonly #userAgent: string
  readonly #pool = new ConnectionPool()
  readonly #slots = new RequestSlots(MAX_REQUESTS)
  #closed = false

  constructor(options: ApiTransportOptions) {
    assertKnownKeys('the options of an ApiTransport', options, OPTION_NAMES)
    this.#current = new CurrentSettings(options.kubeConfig, options.clock ?? systemClock)
    this.#userAgent = options.userAgent ?? defaultUserAgent()
  }

  /** Sends a request and resolves with the parsed JSON body of its answer. @throws ApiRequestError */
  async send(request: ApiRequest): Promise<unknown> {
    for (;;) {
      try {
        return await this.#sendOnce(request)
      } catch (error) {
        // A read on a connection that the server has closed is repeated on the next one. Each attempt uses up one connection.
        const harmless = error instanceof ApiRequestError && error.staleConnection && !isWrite(request)
        if (!harmless) throw error
      }
    }
  }

  /** Sends a request and resolves as soon as a successful answer begins. @throws ApiRequestError */
  async open(request: ApiRequest): Promise<ApiStream> {
    return this.#withCurrentCredentials(request, (settings) => this.#openOnce(request, settings))
  }

  /** Destroys all connections and resolves when they are gone. Requests under way fail; no request may follow. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#pool.close()
  }

  async #openOnce(request: ApiRequest, settings: ConnectionSettings): Promise<ApiStream> {
    const exchange = this.#start(request, settings)
    try {
      const response = await exchange.response()
      if (!isSuccess(response)) throw await failedResponse(request, exchange, response)
      return { read: (take) => exchange.read(response, take), close: () => exchange.dispose() }
    } catch (error) {
      exchange.dispose()
      throw error
    }
  }

  async #sendOnce(request: ApiRequest): Promise<unknown> {
    try {
      await this.#slots.take(request.signal)
    } catch (cause) {
      throw notSent(request, 'the request was aborted before it was sent', cause)
    }
    try {
      return await this.#withCurrentCredentials(request, (settings) => this.#exchange(request, settings))
    } finally {
      this.#slots.release()
    }
  }

  async #exchange(request: ApiRequest, settings: ConnectionSettings): Promise<unknown> {
    const exchange = this.#start(request, settings)
    try {
      const response = await exchange.response()
      if (!isSuccess(response)) throw await failedResponse(request, exchange, response)
      return parseAnswer(request, await exchange.text(response))
    } finally {
      exchange.dispose()
    }
  }

  #start(request: ApiRequest, settings: ConnectionSettings): Exchange {
    if (this.#closed) throw notSent(request, 'the transport is closed')
    let pooled: PooledAgent | undefined
    try {
      pooled = this.#pool.acquire(settings)
      return Exchange.start(request, { settings, pooled, userAgent: this.#userAgent })
    } catch (cause) {
      // Node throws for an invalid certificate, and for a token with characters that a header cannot hold.
      pooled?.release('sound')
      throw notSent(request, `these credentials cannot be sent: ${textOf(cause)}`, cause)
    }
  }

  async #settings(request: ApiRequest): Promise<ConnectionSettings> {
    if (this.#closed) throw notSent(request, 'the transport is closed')
    try {
      return this.#current.known ?? (await abortable(this.#current.get(), request.signal))
    } catch (cause) {
      if (request.signal.aborted) throw notSent(request, 'the request was aborted before it was sent', cause)
      throw notSent(request, `the kubeconfig cannot be used: ${textOf(cause)}`, cause)
    }
  }

  /** Repeats the request once with new credentials if the server refuses the current ones: they may have been rotated. */
  async #withCurrentCredentials<T>(
    request: ApiRequest,
    attempt: (settings: ConnectionSettings) => Promise<T>,
  ): Promise<T> {
    const wasKnown = this.#current.known !== undefined
    const settings = await this.#settings(request)
    try {
      return await attempt(settings)
    } catch (error) {
      if (!(error instanceof ApiRequestError)) throw error
      if (error.failure === 'unreachable') this.#current.forget(settings)
      if (error.failure !== 'unauthenticated') throw error
      const mayDiffer = this.#current.renew(settings)
      if (!wasKnown && !mayDiffer) throw error
      return attempt(await this.#settings(request))
    }
  }
}

/** Node passes on no answer with a status below 200, and none without a status. */
function isSuccess({ statusCode = 500 }: IncomingMessage): boolean {
  return statusCode < 300
}

async function failedResponse(
  request: ApiRequest,
  exchange: Exchange,
  response: IncomingMessage,
): Promise<ApiRequestError> {
  const body = tryParse(await exchange.text(response))
  return statusError(request.target, { statusCode: response.statusCode ?? 0, headers: response.headers, body })
}

/** A write whose answer cannot be parsed has taken effect all the same. */
function parseAnswer(request: ApiRequest, text: string): unknown {
  const body = tryParse(text)
  if (body !== undefined) return body
  throw new ApiRequestError(
    'unknown-outcome',
    `Could not ${describeTarget(request.target)}: the answer is not JSON` +
      (isWrite(request) ? '; it has probably taken effect' : ''),
  )
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function notSent(request: ApiRequest, why: string, cause?: unknown): ApiRequestError {
  return new ApiRequestError('unreachable', `Could not ${describeTarget(request.target)}: ${why}`, { cause })
}
