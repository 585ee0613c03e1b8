import type { ClientRequest, IncomingMessage } from 'node:http'
import { type Duplex, duplexPair, Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { KubeConfig } from '@kubernetes/client-node'
import { onAbort } from '@tenure/core/internal'
import { isJsonObject, type JsonObject, statusError, stringAt } from '@tenure/kubernetes/internal'

/** A port of a Pod, and how long it is needed. */
export interface ForwardedPort {
  readonly kubeConfig: KubeConfig
  readonly namespace: string
  readonly pod: string
  readonly port: number
  /** Ends the forward. */
  readonly signal: AbortSignal
}

/** The part of a WebSocket of `ws` that this uses. client-node runs port-forwards on it. */
interface Session {
  on(event: 'error', listener: (error: Error) => void): this
  once(event: 'unexpected-response', listener: (request: ClientRequest, response: IncomingMessage) => void): this
  once(event: 'close', listener: () => void): this
  terminate(): void
}

/** What `ws` calls when it is about to send a handshake. */
type FinishRequest = (request: ClientRequest, session: Session) => void

/**
 * Forwards one connection to a port of a Pod, as `kubectl port-forward` does, and passes it to `use`. That reaches a port that listens on
 * the loopback address of the Pod, too. When this settles, the connection is closed. It needs the right to `get` and, from Kubernetes
 * 1.35, to `create` `pods/portforward`.
 *
 * @throws ApiRequestError if the API server refuses it, an Error with what the node reports, or the reason of the signal
 */
export async function withPortForward<T>(target: ForwardedPort, use: (connection: Duplex) => Promise<T>): Promise<T> {
  const { namespace, pod, port, signal } = target
  const [connection, remote] = duplexPair()
  const report = new Report()
  const session = new WatchedSession(target, remote)
  const forget = onAbort(signal, () => session.fail(signal.reason))
  try {
    const { PortForward } = await import('@kubernetes/client-node')
    const forward = new PortForward(session.kubeConfig)
    // client-node puts the name into the path as it is.
    const name = encodeURIComponent(pod)
    await Promise.race([forward.portForward(namespace, name, [port], remote, report, remote), session.failed])
    return await Promise.race([use(connection), session.failed])
  } catch (error) {
    throw report.text === '' ? error : new Error(report.text, { cause: error })
  } finally {
    forget()
    connection.destroy()
    remote.destroy()
    await session[Symbol.asyncDispose]()
  }
}

/** The error channel of a forward: why the node cannot reach the port. */
class Report extends Writable {
  text = ''

  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    this.text += chunk.toString('utf8')
    done()
  }
}

/** The WebSocket that client-node opens for a forward. Says why it failed, which client-node does not, and closes it. */
class WatchedSession implements AsyncDisposable {
  /** Opens a WebSocket that this watches. */
  readonly kubeConfig: KubeConfig
  /** Rejects with the first failure. */
  readonly failed: Promise<never>
  readonly fail: (reason: unknown) => void
  readonly #target: ForwardedPort
  #session: Session | undefined
  #closed: Promise<void> | undefined

  constructor(target: ForwardedPort, remote: Duplex) {
    this.#target = target
    const { promise, reject } = Promise.withResolvers<never>()
    promise.catch(() => {})
    this.failed = promise
    this.fail = reject
    const { kubeConfig } = target
    const finishRequest: FinishRequest = (request, session) => this.#watch(request, session, remote)
    const applyToHTTPSOptions: KubeConfig['applyToHTTPSOptions'] = async (options) => {
      await kubeConfig.applyToHTTPSOptions(options)
      Object.assign(options, { finishRequest })
    }
    this.kubeConfig = Object.create(kubeConfig, { applyToHTTPSOptions: { value: applyToHTTPSOptions } })
  }

  #watch(request: ClientRequest, session: Session, remote: Duplex): void {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#session = session
    this.#closed = promise
    session.on('error', this.fail)
    session.once('unexpected-response', (_, response) => {
      void refusalOf(response, this.#target).then(this.fail, this.fail)
    })
    session.once('close', () => {
      remote.end()
      resolve()
    })
    // The credentials may have taken longer than the caller waits.
    if (this.#target.signal.aborted) session.terminate()
    else request.end()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#session?.terminate()
    await this.#closed
  }
}

/** Why a handshake was refused: by the API server, which answers a `Status`, or by the node. */
async function refusalOf(response: IncomingMessage, { namespace, pod: name }: ForwardedPort): Promise<Error> {
  const { statusCode = 0, headers } = response
  const said = await text(response)
  const body = parse(said)
  if (!isJsonObject(body) || body['kind'] !== 'Status')
    return new Error(`the node answered ${statusCode}: ${said.trim()}`)
  const verb = statusCode === 403 && !isAboutGet(body) ? 'create' : 'get'
  const target = { verb, group: '', resource: 'pods/portforward', namespace, name }
  return statusError(target, { statusCode, headers, body })
}

/** The API server names the right that the method of the request needs. It checks `create` after that, and then names no verb. */
function isAboutGet(status: JsonObject): boolean {
  return stringAt(status, 'message')?.includes(' cannot get resource ') === true
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
