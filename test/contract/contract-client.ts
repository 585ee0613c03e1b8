import { once } from 'node:events'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import { createInterface } from 'node:readline'

/** How a client reaches the server, and as whom; all PEM. */
export interface Credentials {
  readonly url: string
  readonly caCert: string
  readonly cert?: string
  readonly key?: string
  readonly token?: string
}

/** What the tests read of an object of the API. */
export interface ApiObject {
  readonly kind?: string
  readonly apiVersion?: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly uid: string
    readonly resourceVersion: string
    readonly generation?: number
    readonly creationTimestamp: string
    readonly deletionTimestamp?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
    readonly finalizers?: readonly string[]
    readonly managedFields?: readonly Readonly<Record<string, unknown>>[]
    readonly continue?: string
    readonly remainingItemCount?: number
  }
  readonly spec?: Readonly<Record<string, unknown>>
  readonly status?: unknown
  readonly data?: Readonly<Record<string, string>>
  readonly items?: readonly ApiObject[]
  readonly message?: string
}

/** An answer. */
export interface ApiAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** The body as it came. */
  readonly text: string
  /** The body as JSON; reading it fails the test when it is something else. */
  readonly body: ApiObject
}

/** What goes with a request. */
export interface RequestOptions {
  readonly body?: unknown
  /** @default application/json */
  readonly contentType?: string
  /** @default contract-suite/1.0 */
  readonly userAgent?: string
  /** Further headers. @default none */
  readonly headers?: Readonly<Record<string, string>>
}

/** One line of a watch. */
export interface WatchEvent {
  readonly type: string
  readonly object: ApiObject
}

export const JSON_PATCH = 'application/json-patch+json'
export const MERGE_PATCH = 'application/merge-patch+json'
export const STRATEGIC_PATCH = 'application/strategic-merge-patch+json'
export const APPLY = 'application/apply-patch+yaml'

/** Raw requests over HTTPS, with nothing between the test and the wire. */
export class ContractClient implements Disposable {
  readonly #credentials: Credentials
  readonly #agent: Agent

  constructor(credentials: Credentials) {
    const { caCert, cert, key } = credentials
    this.#credentials = credentials
    const pair = cert === undefined || key === undefined ? {} : { cert, key }
    this.#agent = new Agent({ keepAlive: true, ca: caCert, ...pair })
  }

  async send(method: string, path: string, options: RequestOptions = {}): Promise<ApiAnswer> {
    const response = await this.#open(method, path, options)
    const chunks: Buffer[] = []
    for await (const chunk of response) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString()
    return {
      status: response.statusCode ?? 0,
      headers: response.headers,
      text,
      get body(): ApiObject {
        return JSON.parse(text) as ApiObject
      },
    }
  }

  get(path: string): Promise<ApiAnswer> {
    return this.send('GET', path)
  }

  post(path: string, body: unknown): Promise<ApiAnswer> {
    return this.send('POST', path, { body })
  }

  put(path: string, body: unknown): Promise<ApiAnswer> {
    return this.send('PUT', path, { body })
  }

  patch(path: string, contentType: string, body: unknown): Promise<ApiAnswer> {
    return this.send('PATCH', path, { body, contentType })
  }

  delete(path: string, body?: unknown): Promise<ApiAnswer> {
    return this.send('DELETE', path, { body })
  }

  /** Starts a watch; resolves when the server has begun to answer. */
  async watch(path: string, options: RequestOptions = {}): Promise<ContractWatch> {
    return new ContractWatch(await this.#open('GET', path, options))
  }

  [Symbol.dispose](): void {
    this.#agent.destroy()
  }

  async #open(method: string, path: string, options: RequestOptions): Promise<IncomingMessage> {
    const { url, token } = this.#credentials
    const body = typeof options.body === 'string' ? options.body : JSON.stringify(options.body)
    const sent = request(`${url}${path}`, {
      method,
      agent: this.#agent,
      headers: {
        'user-agent': options.userAgent ?? 'contract-suite/1.0',
        ...options.headers,
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined
          ? {}
          : {
              'content-type': options.contentType ?? 'application/json',
              'content-length': String(Buffer.byteLength(body)),
            }),
      },
    })
    sent.end(body)
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    return response
  }
}

/** A running watch, read event by event. */
export class ContractWatch implements Disposable {
  readonly status: number
  readonly #response: IncomingMessage
  readonly #lines: AsyncIterator<string>

  constructor(response: IncomingMessage) {
    this.status = response.statusCode ?? 0
    this.#response = response
    this.#lines = createInterface({ input: response })[Symbol.asyncIterator]()
  }

  /** The next event; `undefined` when the server ended the watch. */
  async next(): Promise<WatchEvent | undefined> {
    const { done, value } = await this.#lines.next()
    return done === true ? undefined : (JSON.parse(value) as WatchEvent)
  }

  /** The next `count` events, or fewer when the watch ends. */
  async take(count: number): Promise<WatchEvent[]> {
    const events: WatchEvent[] = []
    while (events.length < count) {
      const event = await this.next()
      if (event === undefined) break
      events.push(event)
    }
    return events
  }

  /** All events until the server ends the watch. */
  rest(): Promise<WatchEvent[]> {
    return this.take(Number.POSITIVE_INFINITY)
  }

  [Symbol.dispose](): void {
    this.#response.destroy()
  }
}

/** Events as `TYPE name`. */
export function summarize(events: readonly WatchEvent[]): string[] {
  return events.map(({ type, object }) => `${type} ${object.metadata.name}`)
}
