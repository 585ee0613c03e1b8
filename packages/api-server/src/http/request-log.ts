/** One logged request. */
export interface LoggedRequest {
  /** The name of the authenticated user. */
  readonly user: string
  /** `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`, or the HTTP method for a non-resource path. */
  readonly verb: string
  /** The API group. Empty for the core group and for a non-resource path. */
  readonly group: string
  /** The plural name. Empty for a non-resource path. */
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
  /** The HTTP status. Zero if the client got no answer. */
  readonly status: number
  /** Wall-clock milliseconds since the Unix epoch. */
  readonly startedAt: number
  /** Milliseconds from the arrival of the headers to the answer, or to the start of a watch. */
  readonly durationMs: number
}

/** Which requests to find. An omitted field matches any value. */
export type RequestFilter = Partial<
  Pick<
    LoggedRequest,
    'user' | 'verb' | 'group' | 'resource' | 'subresource' | 'namespace' | 'name' | 'status' | 'userAgent'
  >
>

/** The latest requests, as in an audit log. */
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

  /** The matching requests, oldest first. */
  find(filter: RequestFilter = {}): LoggedRequest[] {
    const wanted = Object.entries(filter)
    return this.#entries.filter((entry) => wanted.every(([field, value]) => Reflect.get(entry, field) === value))
  }

  /** The number of matching requests. */
  count(filter: RequestFilter = {}): number {
    return this.find(filter).length
  }

  /** Removes all entries. */
  clear(): void {
    this.#entries = []
  }
}
