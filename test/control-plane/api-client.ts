import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import { text } from 'node:stream/consumers'
import type { Access } from './access.ts'

/** A Kubernetes object, as far as one has to know it to send it. */
export interface KubernetesObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
}

/** A request other than a GET without headers. */
export interface ApiRequest {
  readonly method?: string
  readonly contentType?: string
  /** Sent as JSON. */
  readonly body?: unknown
}

/** The status and the text of an answer. */
export interface ApiResponse {
  readonly status: number
  readonly text: string
}

interface ApiResource {
  readonly name: string
  readonly kind: string
  readonly namespaced: boolean
}

const requestTimeoutMs = 10_000

/** A client of the API server that stands on nothing but HTTPS, for what a test has to arrange. */
export class ApiClient {
  readonly #access: Access
  readonly #agent: Agent
  readonly #resources = new Map<string, readonly ApiResource[]>()

  constructor(access: Access) {
    this.#access = access
    this.#agent = new Agent({
      keepAlive: true,
      ca: access.caCert,
      cert: access.cert,
      key: access.key,
    })
  }

  /** Sends one request. Every HTTP status is an answer; only a broken connection rejects. */
  async request(path: string, { method = 'GET', contentType, body }: ApiRequest = {}): Promise<ApiResponse> {
    const sent = request(new URL(path, this.#access.url), {
      method,
      agent: this.#agent,
      signal: AbortSignal.timeout(requestTimeoutMs),
      headers: { accept: 'application/json', 'content-type': contentType ?? 'application/json' },
    })
    sent.end(body === undefined ? undefined : JSON.stringify(body))
    const [response]: IncomingMessage[] = await once(sent, 'response')
    if (response === undefined) throw new Error(`Expected an answer to ${method} ${path}`)
    return { status: response.statusCode ?? 0, text: await text(response) }
  }

  /**
   * Sends a request that has to succeed, and returns the text of the answer.
   *
   * @throws Error with the answer when it is not a success.
   */
  async expect(path: string, options?: ApiRequest): Promise<string> {
    const response = await this.request(path, options)
    if (response.status < 300) return response.text
    throw new Error(`Expected ${options?.method ?? 'GET'} ${path} to succeed, got ${response.status}: ${response.text}`)
  }

  /** Creates the objects, or brings them to what is given, one after another. */
  async apply(objects: readonly KubernetesObject[]): Promise<void> {
    for (const object of objects) {
      const path = `${await this.#collectionPath(object)}/${object.metadata.name}?fieldManager=test&force=true`
      await this.expect(path, { method: 'PATCH', contentType: 'application/apply-patch+yaml', body: object })
    }
  }

  /** Closes the connections. */
  close(): void {
    this.#agent.destroy()
  }

  async #collectionPath({ apiVersion, kind, metadata }: KubernetesObject): Promise<string> {
    const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
    const resource = (await this.#discover(root)).find((found) => found.kind === kind && !found.name.includes('/'))
    if (resource === undefined) throw new Error(`Expected ${apiVersion} to have the kind ${kind}`)
    return resource.namespaced
      ? `${root}/namespaces/${metadata.namespace ?? 'default'}/${resource.name}`
      : `${root}/${resource.name}`
  }

  async #discover(root: string): Promise<readonly ApiResource[]> {
    const known = this.#resources.get(root)
    if (known !== undefined) return known
    const { resources }: { resources: readonly ApiResource[] } = JSON.parse(await this.expect(root))
    this.#resources.set(root, resources)
    return resources
  }
}
