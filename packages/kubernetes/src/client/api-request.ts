/** One request to an API server. */
export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Absolute path below the server URL, for example `/api/v1/namespaces/ops/events`. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly body?: unknown
  /** @default 'application/json' */
  readonly contentType?: string
  /** What the request does in the words of the API server's authorization; used in error messages. */
  readonly target: ApiTarget
  /** Ends the request when aborted: the connection it uses is destroyed. */
  readonly signal: AbortSignal
}

/** What a request does: the attributes that the API server authorizes. */
export interface ApiTarget {
  /** For example `get`, `create` or `watch`. */
  readonly verb: string
  /** Empty for the core group. */
  readonly group: string
  /** Plural, for example `leases`. */
  readonly resource: string
  readonly namespace: string
  readonly name: string
}

/** Names the target for people: `update leases.coordination.k8s.io ops/janitor`. */
export function describeTarget(target: ApiTarget): string {
  const resource = target.group === '' ? target.resource : `${target.resource}.${target.group}`
  if (target.name !== '') return `${target.verb} ${resource} ${target.namespace}/${target.name}`
  return `${target.verb} ${resource} ${target.namespace === '' ? 'in all namespaces' : `in namespace ${target.namespace}`}`
}

/** Whether the request changes something, so that its outcome matters when the answer is lost. */
export function isWrite(request: Pick<ApiRequest, 'method'>): boolean {
  return request.method !== 'GET'
}

/** Path and query string below the server URL. */
export function pathWithQuery(request: Pick<ApiRequest, 'path' | 'query'>): string {
  const query = new URLSearchParams(request.query).toString()
  return query === '' ? request.path : `${request.path}?${query}`
}
