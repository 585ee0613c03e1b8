/** One request to an API server. */
export interface ApiRequest {
  /** The HTTP method. */
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Absolute path below the server URL, for example `/api/v1/namespaces/ops/events`. */
  readonly path: string
  /** Parameters of the query string, not encoded. @default none */
  readonly query?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly body?: unknown
  /** The content type of the body. @default 'application/json' */
  readonly contentType?: string
  /** What the request does, in the terms of Kubernetes authorization. Used in error messages. */
  readonly target: ApiTarget
  /** Aborts the request and destroys its connection. */
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

/** Describes the target for messages: `update leases.coordination.k8s.io ops/janitor`. */
export function describeTarget(target: ApiTarget): string {
  const resource = target.group === '' ? target.resource : `${target.resource}.${target.group}`
  const path = [target.namespace, target.name].filter((part) => part !== '').join('/')
  if (target.name !== '') return `${target.verb} ${resource} ${path}`
  return `${target.verb} ${resource} ${target.namespace === '' ? 'in all namespaces' : `in namespace ${target.namespace}`}`
}

/** Whether the request can change an object, so that its outcome matters if the answer is lost. */
export function isWrite(request: Pick<ApiRequest, 'method'>): boolean {
  return request.method !== 'GET'
}

/** Path and query string below the server URL. */
export function pathWithQuery(request: Pick<ApiRequest, 'path' | 'query'>): string {
  const query = new URLSearchParams(request.query).toString()
  return query === '' ? request.path : `${request.path}?${query}`
}
