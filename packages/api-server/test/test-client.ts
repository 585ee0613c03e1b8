import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { Agent, request, type AgentOptions } from 'node:https'
import type { ApiServer, KubeObject } from '../src/index.ts'
import type { ApiUser } from '../src/access/authentication.ts'

/** An answer with its body as JSON. */
export interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: KubeObject
}

/** A keep-alive connection to a server under test. */
export class TestClient implements Disposable {
  readonly #url: string
  readonly #agent: Agent
  readonly #headers: Readonly<Record<string, string>>

  constructor(server: ApiServer, options: { readonly user?: ApiUser; readonly token?: string } = {}) {
    this.#url = server.url
    this.#agent = new Agent({ keepAlive: true, ca: server.caCert, ...certificateOf(server, options) })
    this.#headers = options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }
  }

  async send(method: string, path: string, body?: unknown): Promise<Answer> {
    const response = await this.open(method, path, body)
    const chunks: Buffer[] = []
    for await (const chunk of response) chunks.push(chunk as Buffer)
    const parsed = JSON.parse(Buffer.concat(chunks).toString()) as KubeObject
    return { status: response.statusCode ?? 0, headers: response.headers, body: parsed }
  }

  /** The head of the answer; rejects when the connection ends before it. */
  async open(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<IncomingMessage> {
    const text = body === undefined ? undefined : JSON.stringify(body)
    const sent = request(`${this.#url}${path}`, {
      method,
      agent: this.#agent,
      ...(signal === undefined ? {} : { signal }),
      headers: {
        'user-agent': 'unit-test/1.0',
        ...this.#headers,
        ...(text === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
      },
    })
    sent.end(text)
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    return response
  }

  /** Closes all connections; the next request opens a new one. */
  disconnect(): void {
    this.#agent.destroy()
  }

  [Symbol.dispose](): void {
    this.disconnect()
  }
}

function certificateOf(
  server: ApiServer,
  options: { readonly user?: ApiUser; readonly token?: string },
): Pick<AgentOptions, 'cert' | 'key'> {
  if (options.token !== undefined) return {}
  const text = server.kubeConfig(options.user)
  const decoded = (field: string): string =>
    Buffer.from(new RegExp(`${field}: (\\S+)`).exec(text)?.[1] ?? '', 'base64').toString()
  return { cert: decoded('client-certificate-data'), key: decoded('client-key-data') }
}

/** The path of the leases of the default namespace, or of one of them. */
export function leases(name?: string): string {
  const path = '/apis/coordination.k8s.io/v1/namespaces/default/leases'
  return name === undefined ? path : `${path}/${name}`
}
