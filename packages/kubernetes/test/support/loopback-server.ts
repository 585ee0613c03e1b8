import { once } from 'node:events'
import https from 'node:https'
import http, { type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { Server, Socket } from 'node:net'
import { KubeConfig, type User } from '@kubernetes/client-node'
import { CertificateAuthority } from '../../../api-server/src/certificate-authority.ts'

/** A scripted server on the loopback interface, with HTTP or HTTPS. */
export class LoopbackServer implements AsyncDisposable {
  /** Every request, oldest first, with its body. */
  readonly requests: { readonly message: IncomingMessage; readonly body: string }[] = []
  /** Every connection that was ever made. */
  readonly connections: Socket[] = []
  readonly #server: http.Server
  /** What clients trust; undefined with HTTP. */
  readonly #authority: CertificateAuthority | undefined

  private constructor(server: http.Server, authority: CertificateAuthority | undefined) {
    this.#server = server
    this.#authority = authority
  }

  static async start(listener: RequestListener, scheme: 'http' | 'https' = 'http'): Promise<LoopbackServer> {
    const authority = scheme === 'https' ? CertificateAuthority.create('loopback') : undefined
    const server =
      authority === undefined
        ? http.createServer()
        : https.createServer(authority.issueServerCertificate(['127.0.0.1']))
    // Only a client closes an idle connection.
    server.keepAliveTimeout = 0
    const loopback = new LoopbackServer(server, authority)
    server.on('connection', (socket) => loopback.connections.push(socket.on('error', () => {})))
    server.on('request', (message, response) => void loopback.#serve(message, response, listener))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return loopback
  }

  get port(): number {
    return portOf(this.#server)
  }

  get url(): string {
    return `${this.#authority === undefined ? 'http' : 'https'}://127.0.0.1:${this.port}`
  }

  get openConnections(): number {
    return this.connections.filter((socket) => !socket.destroyed).length
  }

  kubeConfig(user: Omit<User, 'name'> = {}): KubeConfig {
    return kubeConfigFor(this.url, user, this.#authority?.root.cert)
  }

  /** Resolves when so many requests have arrived in all. */
  async untilRequests(count: number): Promise<void> {
    while (this.requests.length < count) await once(this.#server, 'received')
  }

  /** Resolves when the last connection is gone. */
  async untilDeserted(): Promise<void> {
    await Promise.all(this.connections.map(untilClosed))
  }

  async #serve(message: IncomingMessage, response: ServerResponse, listener: RequestListener): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of message) if (Buffer.isBuffer(chunk)) chunks.push(chunk)
    this.requests.push({ message, body: Buffer.concat(chunks).toString() })
    listener(message, response)
    this.#server.emit('received')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
    for (const socket of this.connections) socket.destroy()
    if (this.#server.listening) await once(this.#server, 'close')
  }
}

/** Resolves when the connection is gone. */
export async function untilClosed(socket: Socket | undefined): Promise<void> {
  if (socket?.closed === false) await new Promise<void>((resolve) => socket.once('close', () => resolve()))
}

/** The port that a server on the loopback interface listens on. */
export function portOf(server: Server): number {
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

/** A kubeconfig with one cluster and one user. */
export function kubeConfigFor(server: string, user: Omit<User, 'name'> = {}, trusted?: string): KubeConfig {
  const kubeConfig = new KubeConfig()
  const caData = trusted === undefined ? undefined : Buffer.from(trusted).toString('base64')
  const cluster = { name: 'test', server, skipTLSVerify: false, ...(caData !== undefined && { caData }) }
  kubeConfig.loadFromClusterAndUser(cluster, { name: 'test', ...user })
  return kubeConfig
}

/** Answers with JSON. */
export function answer(
  response: ServerResponse,
  statusCode: number,
  body: unknown,
  headers: http.OutgoingHttpHeaders = {},
): void {
  response.writeHead(statusCode, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(body))
}
