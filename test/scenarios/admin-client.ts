import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { Agent, request, type RequestOptions } from 'node:https'
import { text } from 'node:stream/consumers'
import { KubeConfig } from '@kubernetes/client-node'

/** A request other than a plain GET. */
export interface AdminRequest {
  readonly method?: string
  /** Sent as JSON. */
  readonly body?: unknown
}

/** The status and the parsed body of an answer. */
export interface AdminAnswer {
  readonly status: number
  readonly body: unknown
}

const REQUEST_TIMEOUT_MS = 10_000

/** A client of an administrator that shares no code with the replicas: plain HTTPS without a client library. */
export class AdminClient {
  readonly #url: string
  readonly #agent: Agent
  readonly #streams = new Set<IncomingMessage>()

  private constructor(url: string, tls: RequestOptions) {
    this.#url = url
    this.#agent = new Agent({ keepAlive: true, ca: tls.ca, cert: tls.cert, key: tls.key })
  }

  /** Reads the address and the credentials from the text of a kubeconfig. */
  static async fromKubeConfig(content: string): Promise<AdminClient> {
    const kubeConfig = new KubeConfig()
    kubeConfig.loadFromString(content)
    const tls: RequestOptions = {}
    await kubeConfig.applyToHTTPSOptions(tls)
    return new AdminClient(kubeConfig.getCurrentCluster()?.server ?? '', tls)
  }

  /** Sends a request; every HTTP status is an answer. */
  async request(path: string, options: AdminRequest = {}): Promise<AdminAnswer> {
    const response = await this.#send(path, options)
    return { status: response.statusCode ?? 0, body: JSON.parse(await text(response)) }
  }

  /** Sends a request and returns the body of a success. @throws Error with the answer when it is none. */
  async expect(path: string, options: AdminRequest = {}): Promise<unknown> {
    const { status, body } = await this.request(path, options)
    if (status < 300) return body
    throw new Error(`Expected ${options.method ?? 'GET'} ${path} to succeed, got ${status}: ${JSON.stringify(body)}`)
  }

  /** Opens a stream of lines, such as a watch. */
  async stream(path: string): Promise<IncomingMessage> {
    const response = await this.#send(path, {})
    if (response.statusCode !== 200) throw new Error(`Expected GET ${path} to succeed, got ${response.statusCode}`)
    this.#streams.add(response)
    response.once('close', () => this.#streams.delete(response))
    return response
  }

  /** Closes every connection. */
  close(): void {
    for (const stream of this.#streams) stream.destroy()
    this.#agent.destroy()
  }

  async #send(path: string, { method = 'GET', body }: AdminRequest): Promise<IncomingMessage> {
    const sent = request(new URL(path, this.#url), {
      method,
      agent: this.#agent,
      headers: { accept: 'application/json', 'content-type': 'application/json', 'user-agent': 'scenario-admin' },
    })
    sent.setTimeout(REQUEST_TIMEOUT_MS, () => sent.destroy(new Error(`${method} ${path} was not answered in time`)))
    sent.end(body === undefined ? undefined : JSON.stringify(body))
    const [response]: IncomingMessage[] = await once(sent, 'response')
    if (response === undefined) throw new Error(`Expected an answer to ${method} ${path}`)
    sent.setTimeout(0)
    return response
  }
}
