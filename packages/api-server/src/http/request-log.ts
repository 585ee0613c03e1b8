/** One request that the server answered, or refused to. */
export interface LoggedRequest {
  /** The name of the authenticated user. */
  readonly user: string
  /** `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`, or the method of a path that is no resource. */
  readonly verb: string
  /** The API group. Empty for the core group and for a path that is no resource. */
  readonly group: string
  /** The plural; empty for a path that is no resource. */
  readonly resource: string
  /** The subresource, such as `status`. Empty for the resource itself. */
  readonly subresource: string
  /** The namespace. Empty for a cluster-wide request. */
  readonly namespace: string
  /** The name of the object. Empty for a collection. */
  readonly name: string
  /** The path of the URL, without the query. */
  readonly path: string
  /** The `User-Agent` header. */
  readonly userAgent: string
  /** The HTTP status; zero when the client got no answer. */
  readonly status: number
  /** Wall-clock milliseconds since the Unix epoch. */
  readonly startedAt: number
  /** From the arrival of the head to the answer; for a watch, to its beginning. */
  readonly durationMs: number
}

/** What a request has to be like to be counted. Everything that is left out may be anything. */
export type RequestFilter = Partial<
  Pick<
    LoggedRequest,
    'user' | 'verb' | 'group' | 'resource' | 'subresource' | 'namespace' | 'name' | 'status' | 'userAgent'
  >
>

/** The latest requests, as an audit log has them. */
export class RequestLog {
  readonly #limit: number
  #entries: LoggedRequest[] = []

  /** Keeps at least `limit` entries. */
  constructor(limit: number) {
    this.#limit = limit
  }

  /** Adds an entry. */
  add(entry: LoggedRequest): void {
    this.#entries.push(entry)
    if (this.#entries.length > 2 * this.#limit) this.#entries = this.#entries.slice(-this.#limit)
  }

  /** The requests that fit, the oldest first. */
  find(filter: RequestFilter = {}): LoggedRequest[] {
    const wanted = Object.entries(filter)
    return this.#entries.filter((entry) => wanted.every(([field, value]) => Reflect.get(entry, field) === value))
  }

  /** How many requests fit. */
  count(filter: RequestFilter = {}): number {
    return this.find(filter).length
  }

  /** Forgets everything. */
  clear(): void {
    this.#entries = []
  }
}
