import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { Agent, request } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Access } from '@tenure/test-control-plane'

/** A plain HTTP proxy in front of an API server that holds each write back, as a slow etcd does. Reads and watches pass at once. */
export class SlowWrites implements AsyncDisposable {
  readonly #server: Server
  readonly #access: Access
  readonly #delayMs: number
  readonly #agent: Agent
  readonly #sockets = new Set<Socket>()

  private constructor(server: Server, access: Access, delayMs: number) {
    this.#server = server
    this.#access = access
    this.#delayMs = delayMs
    this.#agent = new Agent({ keepAlive: true, ca: access.caCert, cert: access.cert, key: access.key })
  }

  /** @param access the user as whom the proxy sends every request */
  static async start(access: Access, delayMs: number): Promise<SlowWrites> {
    const server = createServer()
    const proxy = new SlowWrites(server, access, delayMs)
    server.on('connection', (socket) => {
      socket.setNoDelay(true)
      proxy.#sockets.add(socket)
      socket.on('error', () => {}).once('close', () => proxy.#sockets.delete(socket))
    })
    server.on('request', (message, response) => void proxy.#serve(message, response))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return proxy
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#agent.destroy()
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }

  async #serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    // A client that leaves within its request gets no answer.
    const body = await buffer(message).catch(() => undefined)
    if (body === undefined) return
    if (message.method !== 'GET') await sleep(this.#delayMs)
    const { hostname, port } = new URL(this.#access.url)
    const { url: path, method, headers } = message
    const sent = request({ agent: this.#agent, hostname, port, path, method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      response.flushHeaders()
      answer.on('error', () => response.destroy()).pipe(response)
    })
    sent.setNoDelay(true)
    sent.on('error', () => message.socket.destroy())
    response.once('close', () => sent.destroy())
    sent.end(body)
  }
}
