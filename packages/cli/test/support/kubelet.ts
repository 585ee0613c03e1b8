import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { createServer, type Server } from 'node:https'
import { createRequire } from 'node:module'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import type { CertificateAuthority } from '@tenure/api-server/internal'

/** The ports of a Pod, each with the port of the loopback address of this machine where its container listens. */
export type PodPorts = Readonly<Record<number, number>>

/** What is used of a WebSocket of `ws`, as a server has it. */
interface Session {
  on(event: 'message', listener: (message: Buffer) => void): this
  on(event: 'error', listener: (error: Error) => void): this
  once(event: 'close', listener: () => void): this
  send(message: Buffer): void
  close(code: number): void
  terminate(): void
}

interface Sessions {
  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer, take: (session: Session) => void): void
}

const require = createRequire(import.meta.url)
const { WebSocketServer } = require('ws') as {
  readonly WebSocketServer: new (options: {
    readonly noServer: true
    readonly handleProtocols: (offered: ReadonlySet<string>) => string | false
  }) => Sessions
}

const PROTOCOL = 'v4.channel.k8s.io'
const [DATA, ERROR] = [0, 1]

/**
 * Stands in for the kubelet of a node, and for the container runtime behind it, as far as port-forwards need them. It follows Kubernetes 1.36:
 *
 * - The API server sends the handshake of a WebSocket on as it is, to `/portForward/NAMESPACE/POD?port=PORT`, with its client certificate,
 *   and then copies bytes (`PortForwardREST` in `pkg/registry/core/pod/rest`). It translates SPDY tunnels only, which client-node
 *   does not use.
 * - The kubelet answers 404 for a Pod that is not on its node, and 500 for a Pod that does not run (`getPortForward` in
 *   `pkg/kubelet/server`, `GetPortForward` in `pkg/kubelet`).
 * - The container runtime takes the first offered protocol that it knows, and answers 403 if it knows none. Every port has a data and an
 *   error channel, and both begin with the port in two bytes, little-endian. It connects to `localhost` in the network of the Pod. A
 *   connection that fails is reported on the error channel; when a connection ends, it closes the WebSocket (`handleWebSocketStreams` in
 *   `cri-streaming/pkg/streaming/portforward`).
 */
export class Kubelet implements AsyncDisposable {
  /** By `NAMESPACE/NAME`; undefined for a Pod of the node that does not run. */
  readonly pods = new Map<string, PodPorts | undefined>()
  readonly #server: Server
  readonly #webSockets: Sessions
  readonly #open = new Set<Session>()

  private constructor(authority: CertificateAuthority) {
    const tls = { ...authority.issueServerCertificate(['127.0.0.1']), ca: authority.root.cert }
    this.#server = createServer({ ...tls, requestCert: true, rejectUnauthorized: true })
    this.#server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      const [, namespace, pod] = /^\/portForward\/([^/]+)\/([^/?]+)\?/.exec(request.url ?? '') ?? []
      this.forward(request, { socket, head, pod: `${namespace}/${pod}` })
    })
    this.#webSockets = new WebSocketServer({
      noServer: true,
      handleProtocols: (offered) => (offered.has(PROTOCOL) ? PROTOCOL : false),
    })
  }

  /** Starts on a port of the loopback address. Its certificate and those of its clients are of this authority. */
  static async start(authority: CertificateAuthority): Promise<Kubelet> {
    const kubelet = new Kubelet(authority)
    await once(kubelet.#server.listen(0, '127.0.0.1'), 'listening')
    return kubelet
  }

  get port(): number {
    const address = this.#server.address()
    return typeof address === 'object' ? (address?.port ?? 0) : 0
  }

  /** The port-forwards that are open. */
  get openForwards(): number {
    return this.#open.size
  }

  /** Answers a handshake. The port is a parameter with the name `port`, or `ports` as clients send it. */
  forward(
    request: IncomingMessage,
    to: { readonly socket: Duplex; readonly head: Buffer; readonly pod: string },
  ): void {
    const { socket, head, pod } = to
    socket.on('error', () => {})
    const { searchParams } = new URL(request.url ?? '', 'https://node')
    const port = Number(searchParams.get('port') ?? searchParams.get('ports'))
    const ports = this.pods.get(pod)
    const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',')
    if (!this.pods.has(pod)) refuse(socket, '404 Not Found', 'pod does not exist')
    else if (ports === undefined)
      refuse(socket, '500 Internal Server Error', `pod not found ("${pod.split('/').toReversed().join('_')}")`)
    else if (!offered.includes(PROTOCOL)) refuse(socket, '403 Forbidden', '')
    else
      this.#webSockets.handleUpgrade(request, socket, head, (session) => this.#serve(session, port, ports[port] ?? 1))
  }

  /** Breaks all port-forwards that are open. */
  breakForwards(): void {
    for (const session of this.#open) session.terminate()
  }

  #serve(session: Session, port: number, localPort: number): void {
    const send = (channel: number, data: Buffer) => session.send(Buffer.concat([Buffer.of(channel), data]))
    this.#open.add(session)
    for (const channel of [DATA, ERROR]) send(channel, Buffer.of(port & 0xff, port >> 8))
    const container = connect(localPort, '127.0.0.1')
    container.on('data', (data) => send(DATA, data))
    container.on('error', ({ message }) =>
      send(ERROR, Buffer.from(`error forwarding port ${port} to pod x, uid : ${message}`)),
    )
    container.once('close', () => session.close(1000))
    session.on('message', (message) => message[0] === DATA && container.write(message.subarray(1)))
    session.on('error', () => {})
    session.once('close', () => {
      this.#open.delete(session)
      container.destroy()
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.breakForwards()
    this.#server.close()
    this.#server.closeAllConnections()
    await once(this.#server, 'close')
  }
}

function refuse(socket: Duplex, status: string, text: string): void {
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: ${text.length}\r\n\r\n${text}`)
}
