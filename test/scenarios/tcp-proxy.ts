import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

const HOST = '127.0.0.1'

/** A proxy to a loopback server that can delay or cut connections. */
export class TcpProxy implements AsyncDisposable {
  /** What clients use in place of the URL of the server. */
  readonly url: string
  readonly #targetPort: number
  readonly #port: number
  readonly #sockets = new Set<Socket>()
  readonly #upstreams = new Set<Socket>()
  readonly #clients = new Set<Socket>()
  readonly #waiting = new Set<Socket>()
  #server: Server
  #holdsConnections = false
  #holdsAnswers = false
  #holdsRequests = false

  private constructor(target: URL, server: Server) {
    this.#targetPort = Number(target.port)
    this.#server = server
    this.#port = (server.address() as AddressInfo).port
    this.url = `${target.protocol}//${HOST}:${this.#port}`
    server.on('connection', (client) => this.#accept(client))
  }

  /** Opens a way to the server at `url`. */
  static async start(url: string): Promise<TcpProxy> {
    return new TcpProxy(new URL(url), await listen(0))
  }

  /** Takes new connections and carries nothing on them, until {@link resume}. Those that exist are not touched. */
  holdNewConnections(): void {
    this.#holdsConnections = true
  }

  /** Carries requests and no answers, until {@link resume}. */
  holdAnswers(): void {
    this.#holdsAnswers = true
    for (const upstream of this.#upstreams) upstream.pause()
  }

  /** Carries answers and what watches show, and no requests, until {@link resume}. */
  holdRequests(): void {
    this.#holdsRequests = true
    for (const client of this.#clients) client.pause()
  }

  /** Carries nothing more on the connections that exist, and leaves them open. New ones are not touched. */
  strand(): void {
    for (const socket of this.#sockets) socket.removeAllListeners('data').pause()
  }

  /** Carries everything again, what was held included. */
  resume(): void {
    this.#holdsConnections = false
    this.#holdsAnswers = false
    this.#holdsRequests = false
    for (const client of this.#clients) client.resume()
    for (const upstream of this.#upstreams) upstream.resume()
    for (const client of this.#waiting) this.#connect(client)
    this.#waiting.clear()
  }

  /** Breaks every connection and refuses new ones, until {@link restore}. */
  async cut(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  /** Takes connections again, on the same port. */
  async restore(): Promise<void> {
    this.#server = await listen(this.#port)
    this.#server.on('connection', (client) => this.#accept(client))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#server.listening) await this.cut()
  }

  #accept(client: Socket): void {
    this.#track(client)
    if (this.#holdsConnections) this.#waiting.add(client)
    else this.#connect(client)
  }

  #connect(client: Socket): void {
    if (client.destroyed) return
    const upstream = connect({ host: HOST, port: this.#targetPort, noDelay: true })
    client.setNoDelay(true)
    this.#track(upstream)
    this.#upstreams.add(upstream)
    this.#clients.add(client)
    client.on('data', (chunk: Buffer) => upstream.write(chunk))
    upstream.on('data', (chunk: Buffer) => client.write(chunk))
    if (this.#holdsAnswers) upstream.pause()
    if (this.#holdsRequests) client.pause()
    client.once('close', () => {
      this.#clients.delete(client)
      upstream.destroy()
    })
    upstream.once('close', () => {
      this.#upstreams.delete(upstream)
      client.destroy()
    })
  }

  #track(socket: Socket): void {
    this.#sockets.add(socket)
    // A broken connection is what some tests are about; its end is seen by the `close` that follows.
    socket.on('error', () => {})
    socket.once('close', () => {
      this.#sockets.delete(socket)
      this.#waiting.delete(socket)
    })
  }
}

async function listen(port: number): Promise<Server> {
  const server = createServer()
  server.listen(port, HOST)
  await once(server, 'listening')
  return server
}
