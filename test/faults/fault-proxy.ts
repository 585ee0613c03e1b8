import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { Agent, request } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Way } from './way.ts'

/**
 * What a proxy does to the requests of its replica: what takes knowledge of HTTP. Bytes are the business of toxiproxy.
 *
 * - `lost-answers`: passes writes on and, when they are done, cuts the connection instead of answering them
 * - `silent-watch`: answers, but what watches would tell is dropped
 * - `unauthenticated`: takes the token off, as if it had expired
 * - `late-renewals`: 503 to writes of leases, until 1.8 s after the last one that passed
 * - `no-lease`: 503 to everything about leases, whose watches fall silent, while all else passes
 * - a number: answers with this status
 */
export type ProxyMode =
  'pass' | 'lost-answers' | 'silent-watch' | 'unauthenticated' | 'late-renewals' | 'no-lease' | 429 | 500 | 503

/** The least time between two renewals that are late. */
const LATE_MS = 1800

/** A plain HTTP proxy in front of an API server, for one replica, that can be made to misbehave while connections are open. */
export class FaultProxy implements Way, AsyncDisposable {
  readonly #server: Server
  readonly #target: URL
  readonly #agent: Agent
  readonly #sockets = new Set<Socket>()
  #mode: ProxyMode = 'pass'
  /** When the last write of a lease passed that had to wait. */
  #renewedAt = -Infinity

  private constructor(server: Server, target: string, caCert: string) {
    this.#server = server
    this.#target = new URL(target)
    this.#agent = new Agent({ keepAlive: true, ca: caCert })
  }

  static async start(target: string, caCert: string): Promise<FaultProxy> {
    const server = createServer()
    const proxy = new FaultProxy(server, target, caCert)
    server.on('connection', (socket) => {
      proxy.#sockets.add(socket)
      socket.on('error', () => {}).once('close', () => proxy.#sockets.delete(socket))
    })
    server.on('request', (message, response) => proxy.#serve(message, response))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return proxy
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Misbehaves like this from now on, on open connections as well. */
  set mode(mode: ProxyMode) {
    this.#mode = mode
  }

  async mend(): Promise<void> {
    this.#mode = 'pass'
    for (const socket of this.#sockets) socket.destroy()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#agent.destroy()
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #serve(message: IncomingMessage, response: ServerResponse): void {
    const refusal = this.#refusalOf(message)
    if (refusal === undefined) return this.#forward(message, response)
    message.resume()
    const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: refusal, message: 'storm' }
    response.writeHead(refusal, { 'content-type': 'application/json' }).end(JSON.stringify(status))
  }

  #refusalOf({ url = '', method }: IncomingMessage): number | undefined {
    if (typeof this.#mode === 'number') return this.#mode
    if (this.#mode === 'late-renewals') {
      if (method === 'GET' || !url.includes('/leases')) return undefined
      if (performance.now() < this.#renewedAt + LATE_MS) return 503
      this.#renewedAt = performance.now()
      return undefined
    }
    return this.#mode === 'no-lease' && url.includes('/leases') ? 503 : undefined
  }

  #forward(message: IncomingMessage, response: ServerResponse): void {
    const { authorization, ...headers } = message.headers
    const sent = request({
      agent: this.#agent,
      hostname: this.#target.hostname,
      port: this.#target.port,
      path: message.url,
      method: message.method,
      headers: this.#mode === 'unauthenticated' ? headers : { ...headers, authorization },
    })
    response.once('close', () => sent.destroy())
    sent.on('error', () => message.socket.destroy())
    sent.on('response', (answer) => this.#passBack(message, response, answer))
    message.pipe(sent)
  }

  #passBack(message: IncomingMessage, response: ServerResponse, answer: IncomingMessage): void {
    answer.on('error', () => response.destroy())
    if (this.#mode === 'lost-answers' && message.method !== 'GET') return void message.socket.destroy()
    const isWatch = message.url?.includes('watch=true') === true
    const isSilent = () => isWatch && (this.#mode === 'silent-watch' || this.#mode === 'no-lease')
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    response.flushHeaders()
    answer.on('data', (chunk: Buffer) => {
      if (!isSilent()) response.write(chunk)
    })
    answer.on('end', () => response.end())
  }
}
