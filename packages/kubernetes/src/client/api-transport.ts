import type { IncomingMessage } from 'node:http'
import { type Clock } from '@tenure/core'
import { assertKnownKeys, systemClock, textOf } from '@tenure/core/internal'
import { abortable } from './abortable.ts'
import { ApiRequestError } from './api-request-error.ts'
import { describeTarget, isWrite, type ApiRequest } from './api-request.ts'
import { ConnectionPool } from './connection-pool.ts'
import type { ConnectionSettings } from './connection-settings.ts'
import { CurrentSettings, type KubeConfigSource } from './current-settings.ts'
import { Exchange } from './exchange.ts'
import { RequestSlots } from './request-slots.ts'
import { statusError } from './status-error.ts'
import { defaultUserAgent } from './user-agent.ts'

/** As many requests, streams apart, as are under way at once; further ones wait. */
const MAX_REQUESTS = 24

/** Options of an {@link ApiTransport}. */
export interface ApiTransportOptions {
  readonly kubeConfig: KubeConfigSource
  /** @default 'tenure/<version> leader-election' */
  readonly userAgent?: string
  /** Tells how old the credentials are. @default the clock of this machine */
  readonly clock?: Clock
}

/** The answer to a request whose body is still arriving. */
export interface ApiStream {
  /**
   * Hands over what arrives, once, and fulfils with the end of the answer. Rejects with an ApiRequestError when the answer breaks
   * off, and with what `take` throws.
   */
  read(take: (chunk: Buffer) => void): Promise<void>
  /** Destroys the connection unless the answer was read to its end. */
  close(): void
}

const OPTION_NAMES = ['kubeConfig', 'userAgent', 'clock'] as const satisfies (keyof ApiTransportOptions)[]

/**
 * Sends requests to an API server over connections of its own.
 *
 * Owns its connections. A request lasts until it is answered, fails, or its signal aborts. It uses the credentials that the
 * kubeconfig gave no more than 5 s ago; when the server refuses those, it is repeated at once with what the kubeconfig gives then:
 * files are read and plugins run again.
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
        // A read on a kept-alive connection that the server has closed is repeated on the next one; each try uses one up.
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
    const pooled = this.#pool.acquire(settings)
    try {
      return Exchange.start(request, { settings, pooled, userAgent: this.#userAgent })
    } catch (cause) {
      // Node refuses a certificate that is none, or a token that no header can hold.
      pooled.release('sound')
      throw notSent(request, `it cannot be sent with these credentials: ${textOf(cause)}`, cause)
    }
  }

  async #settings(request: ApiRequest): Promise<ConnectionSettings> {
    if (this.#closed) throw notSent(request, 'the transport is closed')
    try {
      return this.#current.known ?? (await abortable(this.#current.get(), request.signal))
    } catch (cause) {
      if (request.signal.aborted) throw notSent(request, 'the request was aborted before it was sent', cause)
      throw notSent(request, `the kubeconfig gave no way to connect: ${textOf(cause)}`, cause)
    }
  }

  /** Credentials that are refused may have been replaced since the kubeconfig was asked for them, and so may an address. */
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

function isSuccess(response: IncomingMessage): boolean {
  const statusCode = response.statusCode ?? 0
  return statusCode >= 200 && statusCode < 300
}

async function failedResponse(
  request: ApiRequest,
  exchange: Exchange,
  response: IncomingMessage,
): Promise<ApiRequestError> {
  const body = tryParse(await exchange.text(response))
  return statusError(request.target, { statusCode: response.statusCode ?? 0, headers: response.headers, body })
}

/** A success whose body cannot be read has happened all the same. */
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
