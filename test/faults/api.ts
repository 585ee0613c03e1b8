import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'

/** How to reach an API server, and as whom; all PEM. */
export interface ApiAccess {
  readonly url: string
  readonly caCert: string
  readonly cert?: string
  readonly key?: string
  readonly token?: string
}

/** What is read of an object. */
export interface ApiObject {
  readonly apiVersion?: string
  readonly kind?: string
  readonly metadata: {
    readonly name: string
    readonly resourceVersion: string
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly data?: Readonly<Record<string, string>>
  readonly spec?: Readonly<Record<string, unknown>>
  readonly status?: unknown
  readonly message?: string
}

/** An answer, whatever its status. */
export interface ApiAnswer {
  readonly status: number
  readonly body: ApiObject
  /** The `Warning` headers, joined. */
  readonly warnings: string
}

/** One line of a watch. */
export interface WatchEvent {
  readonly type: string
  readonly object: ApiObject
}

export const MERGE_PATCH = 'application/merge-patch+json'
export const JSON_PATCH = 'application/json-patch+json'
export const STRATEGIC_PATCH = 'application/strategic-merge-patch+json'
export const APPLY_PATCH = 'application/apply-patch+yaml'

/** Plain HTTPS, with nothing of the project between the observer and the server. */
export class Api implements Disposable {
  readonly url: string
  readonly #token: string | undefined
  readonly #agent: Agent
  readonly #streams = new Set<IncomingMessage>()

  constructor({ url, caCert, cert, key, token }: ApiAccess) {
    this.url = url
    this.#token = token
    this.#agent = new Agent({ keepAlive: true, ca: caCert, ...(cert && { cert }), ...(key && { key }) })
  }

  async send(method: string, path: string, body?: unknown, contentType = 'application/json'): Promise<ApiAnswer> {
    const response = await this.#open(method, path, body, contentType)
    const content = await text(response)
    const isJson = response.headers['content-type']?.startsWith('application/json') === true
    const answer = (isJson ? JSON.parse(content) : { message: content }) as ApiObject
    return { status: response.statusCode ?? 0, body: answer, warnings: String(response.headers['warning'] ?? '') }
  }

  get(path: string): Promise<ApiAnswer> {
    return this.send('GET', path)
  }

  /** Sends a request that has to succeed. @throws Error with the answer when it does not. */
  async expect(method: string, path: string, body?: unknown, contentType?: string): Promise<ApiObject> {
    const answer = await this.send(method, path, body, contentType)
    if (answer.status < 300) return answer.body
    throw new Error(`Expected ${method} ${path} to succeed, got ${answer.status}: ${JSON.stringify(answer.body)}`)
  }

  /** Calls `seen` for every event of a watch until it ends. Resolves when the server has begun to answer. */
  async watch(path: string, seen: (event: WatchEvent) => void): Promise<{ readonly ended: Promise<unknown> }> {
    const response = await this.#open('GET', path, undefined, 'application/json')
    if (response.statusCode !== 200) throw new Error(`Expected a watch of ${path}, got ${response.statusCode}`)
    this.#streams.add(response)
    response.on('error', () => {})
    createInterface({ input: response }).on('line', (line) => seen(JSON.parse(line) as WatchEvent))
    return { ended: once(response, 'close').finally(() => this.#streams.delete(response)) }
  }

  [Symbol.dispose](): void {
    for (const stream of this.#streams) stream.destroy()
    this.#agent.destroy()
  }

  async #open(method: string, path: string, body: unknown, contentType: string): Promise<IncomingMessage> {
    const payload = body === undefined ? undefined : JSON.stringify(body)
    const sent = request(`${this.url}${path}`, {
      method,
      agent: this.#agent,
      headers: {
        accept: 'application/json',
        ...(this.#token && { authorization: `Bearer ${this.#token}` }),
        ...(payload !== undefined && { 'content-type': contentType, 'content-length': Buffer.byteLength(payload) }),
      },
    })
    sent.end(payload)
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    return response
  }
}
