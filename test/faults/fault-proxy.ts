import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { Agent, request } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * What a proxy does to the requests of its replica.
 *
 * - `black-hole`: takes everything and passes nothing on, in either direction
 * - `half-open`: passes requests on and no answer back; connections stay open
 * - `lost-answers`: passes writes on and cuts the connection instead of answering them
 * - `reset`: cuts every connection as soon as something is asked on it
 * - `slow`: answers after a second
 * - `silent-watch`: answers, but what watches would tell is dropped
 * - `unauthenticated`: takes the token off, as if it had expired
 * - a number: answers with this status
 */
export type ProxyMode =
  | 'pass'
  | 'black-hole'
  | 'half-open'
  | 'lost-answers'
  | 'reset'
  | 'slow'
  | 'silent-watch'
  | 'unauthenticated'
  | 429
  | 500
  | 503

/** A plain HTTP proxy in front of an API server, for one replica, that can be made to misbehave while connections are open. */
export class FaultProxy implements AsyncDisposable {
  readonly #server: Server
  readonly #target: URL
  readonly #agent: Agent
  readonly #sockets = new Set<Socket>()
  #mode: ProxyMode = 'pass'

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

  /** Misbehaves like this from now on, on open connections as well. Passing again begins with fresh connections. */
  set mode(mode: ProxyMode) {
    this.#mode = mode
    if (mode === 'pass' || mode === 'reset') for (const socket of this.#sockets) socket.destroy()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#agent.destroy()
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #serve(message: IncomingMessage, response: ServerResponse): void {
    const mode = this.#mode
    if (mode === 'reset') return void message.socket.destroy()
    if (mode === 'black-hole') return void message.resume()
    if (typeof mode === 'number') {
      message.resume()
      const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: mode, message: 'storm' }
      response.writeHead(mode, { 'content-type': 'application/json' }).end(JSON.stringify(status))
      return
    }
    this.#forward(message, response, mode)
  }

  #forward(message: IncomingMessage, response: ServerResponse, mode: ProxyMode): void {
    const { authorization, ...headers } = message.headers
    const sent = request({
      agent: this.#agent,
      hostname: this.#target.hostname,
      port: this.#target.port,
      path: message.url,
      method: message.method,
      headers: mode === 'unauthenticated' ? headers : { ...headers, authorization },
    })
    response.once('close', () => sent.destroy())
    sent.on('error', () => message.socket.destroy())
    sent.on('response', (answer) => void this.#passBack(message, response, answer))
    message.pipe(sent)
  }

  async #passBack(message: IncomingMessage, response: ServerResponse, answer: IncomingMessage): Promise<void> {
    answer.on('error', () => response.destroy())
    const isWatch = message.url?.includes('watch=true') === true
    const isWrite = message.method !== 'GET'
    if (this.#mode === 'slow') await sleep(1000)
    if (this.#mode === 'lost-answers' && isWrite) return void message.socket.destroy()
    if (this.#mode === 'black-hole' || this.#mode === 'half-open') return void answer.resume()
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    response.flushHeaders()
    answer.on('data', (chunk: Buffer) => {
      const isDropped =
        this.#mode === 'black-hole' || this.#mode === 'half-open' || (isWatch && this.#mode === 'silent-watch')
      if (!isDropped) response.write(chunk)
    })
    answer.on('end', () => response.end())
  }
}
