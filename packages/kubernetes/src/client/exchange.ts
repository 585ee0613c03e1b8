import { isA, onAbort, textOf } from '@tenure/core/internal'
import http, { type ClientRequest, type IncomingMessage } from 'node:http'
import https from 'node:https'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { ApiRequestError } from './api-request-error.ts'
import { describeTarget, isWrite, pathWithQuery, type ApiRequest } from './api-request.ts'
import type { PooledAgent } from './connection-pool.ts'
import type { ConnectionSettings } from './connection-settings.ts'
import { withoutOptions } from './without-options.ts'

/** What an {@link Exchange} needs besides the request. */
export interface ExchangeContext {
  readonly settings: ConnectionSettings
  readonly pooled: PooledAgent
  readonly userAgent: string
}

/**
 * One HTTP request and its answer on one connection.
 *
 * Owns the abort listener and the connection until {@link Exchange.dispose}. Aborting destroys the connection, so that the next request
 * uses a new one. Knows whether the request can have reached the server: Node passes nothing to the kernel before the connection is
 * established, including its TLS handshake.
 */
export class Exchange {
  readonly #request: ApiRequest
  readonly #context: ExchangeContext
  readonly #outgoing: ClientRequest
  readonly #answer: Promise<IncomingMessage>
  #forgetAbort = () => {}
  #sent = false
  #failed = false
  #response: IncomingMessage | undefined

  private constructor(request: ApiRequest, context: ExchangeContext, outgoing: ClientRequest) {
    this.#request = request
    this.#context = context
    this.#outgoing = outgoing
    // The listener for errors stays: without one, an error after the answer has begun would crash the process.
    this.#answer = new Promise((resolve, reject) => outgoing.once('response', resolve).on('error', reject))
  }

  /** Sends the request. */
  static start(request: ApiRequest, context: ExchangeContext): Exchange {
    const body: string | undefined = JSON.stringify(request.body)
    const secure = context.settings.server.protocol === 'https:'
    const outgoing = (secure ? https : http).request(requestOptions(request, context, body))
    const exchange = new Exchange(request, context, outgoing)
    exchange.#listen()
    outgoing.end(body)
    return exchange
  }

  /** Resolves with the head of the answer. @throws ApiRequestError if none arrives */
  async response(): Promise<IncomingMessage> {
    try {
      this.#response = await this.#answer
      return this.#response
    } catch (cause) {
      throw this.#failure(cause)
    }
  }

  /**
   * Passes the body of the answer to `take` as it arrives, and resolves at its end. Rejects with what `take` throws.
   *
   * @throws ApiRequestError if the connection breaks
   */
  async read(response: IncomingMessage, take: (chunk: Buffer) => void): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    let refusal: { readonly error: unknown } | undefined
    response.on('data', (chunk: Buffer) => {
      if (refusal !== undefined) return
      try {
        take(chunk)
      } catch (error) {
        refusal = { error }
        reject(error)
      }
    })
    const closed = () => reject(new Error('The connection was closed before the end of the answer'))
    response.once('end', resolve).once('error', reject).once('close', closed)
    if (response.closed) closed()
    try {
      await promise
    } catch (cause) {
      throw refusal === undefined ? this.#failure(cause) : refusal.error
    }
  }

  /** The whole body of the answer as text. @throws ApiRequestError if the connection breaks */
  async text(response: IncomingMessage): Promise<string> {
    const chunks: Buffer[] = []
    await this.read(response, (chunk) => void chunks.push(chunk))
    return Buffer.concat(chunks).toString('utf8')
  }

  /** Returns the connection to the pool if the answer was read to its end, and destroys it otherwise. */
  dispose(): void {
    this.#forgetAbort()
    if (this.#response?.readableEnded !== true) this.#outgoing.destroy()
    this.#context.pooled.release(this.#failed ? 'broken' : 'sound')
  }

  #listen(): void {
    const { signal } = this.#request
    this.#answer.catch(() => {})
    this.#outgoing.once('socket', (socket) => {
      this.#context.pooled.track(socket)
      this.#noteWhenConnected(socket)
    })
    this.#forgetAbort = onAbort(signal, () => this.#outgoing.destroy())
  }

  #noteWhenConnected(socket: Socket): void {
    const secure = socket instanceof TLSSocket
    const connected = secure ? socket.getFinished() !== undefined : !socket.connecting
    const note = () => {
      this.#sent = true
    }
    if (connected) note()
    else socket.once(secure ? 'secureConnect' : 'connect', note)
  }

  #failure(failure: unknown): ApiRequestError {
    this.#failed = true
    const cause = withoutOptions(failure)
    const { signal } = this.#request
    const staleConnection = this.#outgoing.reusedSocket && this.#response === undefined && !signal.aborted
    return new ApiRequestError(
      this.#sent ? 'unknown-outcome' : 'unreachable',
      `Could not ${describeTarget(this.#request.target)}: ${this.#explain(cause)}`,
      { cause: signal.aborted ? signal.reason : cause, staleConnection },
    )
  }

  #explain(cause: unknown): string {
    const { server } = this.#context.settings
    const why = this.#request.signal.aborted ? 'the request was aborted' : describeCause(cause)
    if (!this.#sent) return `no connection to ${server.origin} (${why})`
    return `no answer from ${server.origin} (${why})` + (isWrite(this.#request) ? '; it may have taken effect' : '')
  }
}

function requestOptions(request: ApiRequest, context: ExchangeContext, body: string | undefined): https.RequestOptions {
  const { server, auth, headers } = context.settings
  return {
    agent: context.pooled.agent,
    protocol: server.protocol,
    host: server.hostname.replace(/[[\]]/g, ''),
    port: server.port === '' ? (server.protocol === 'http:' ? 80 : 443) : Number(server.port),
    method: request.method,
    path: server.pathname.replace(/\/$/, '') + pathWithQuery(request),
    auth,
    headers: {
      accept: 'application/json',
      'user-agent': context.userAgent,
      ...(body === undefined
        ? {}
        : { 'content-type': request.contentType ?? 'application/json', 'content-length': Buffer.byteLength(body) }),
      ...headers,
    },
  }
}

function describeCause(cause: unknown): string {
  if (!isA(cause, Error)) return textOf(cause)
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : undefined
  if (code === undefined || cause.message.includes(code)) return cause.message
  return cause.message === '' ? code : `${code}: ${cause.message}`
}
