import { nameInFieldSelector } from '../objects/selectors.ts'

/** What a request asks for, read from its method and URL only. */
export interface RequestInfo {
  /** The path of the URL, without the query. */
  readonly path: string
  /** The parameters of the URL. */
  readonly query: URLSearchParams
  /** The Kubernetes verb for a resource; the HTTP method in lower case for any other path. */
  readonly verb: string
  /** The resource; `undefined` for paths such as `/version`. */
  readonly target: RequestTarget | undefined
}

/** The resource that a request names. */
export interface RequestTarget {
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly subresource: string
  readonly namespace: string
  /** The name from the path or from the field selector; empty for a collection. */
  readonly name: string
  /** Whether the name comes from the path. */
  readonly isNamed: boolean
}

const NAMESPACE_SUBRESOURCES: ReadonlySet<string> = new Set(['status', 'finalize'])

/** Reads a method and a URL as the API server does. */
export function readRequestInfo(method: string, url: string): RequestInfo {
  const mark = url.indexOf('?')
  const path = mark === -1 ? url : url.slice(0, mark)
  const query = new URLSearchParams(mark === -1 ? '' : url.slice(mark + 1))
  const inPath = readTarget(path)
  if (inPath === undefined) return { path, query, verb: method.toLowerCase(), target: undefined }
  const verb = verbOf(method, query, inPath.isNamed)
  const isSelection = verb === 'list' || verb === 'watch' || verb === 'deletecollection'
  const selected = isSelection && !inPath.isNamed ? nameInFieldSelector(query.get('fieldSelector') ?? '') : undefined
  return { path, query, verb, target: selected === undefined ? inPath : { ...inPath, name: selected } }
}

function readTarget(path: string): RequestTarget | undefined {
  const segments = path
    .split('/')
    .filter((segment) => segment !== '')
    .map(decodeSegment)
  if (segments[0] === 'api') return readResource({ group: '', version: segments[1] ?? '' }, segments.slice(2))
  if (segments[0] !== 'apis') return undefined
  return readResource({ group: segments[1] ?? '', version: segments[2] ?? '' }, segments.slice(3))
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

function readResource(version: { group: string; version: string }, segments: string[]): RequestTarget | undefined {
  if (isInsideNamespace(segments)) {
    const [, namespace = '', resource = '', name = '', ...subresource] = segments
    return targetOf({ ...version, resource, namespace }, name, subresource)
  }
  const [resource, name = '', ...subresource] = segments
  if (resource === undefined) return undefined
  const namespace = resource === 'namespaces' ? name : ''
  return targetOf({ ...version, resource, namespace }, name, subresource)
}

/** Whether a path leads to a resource inside a namespace: `namespaces/ops/pods` does, `namespaces/ops/status` does not. */
function isInsideNamespace([first, , third, ...rest]: readonly string[]): boolean {
  if (first !== 'namespaces' || third === undefined) return false
  const isSubresource = NAMESPACE_SUBRESOURCES.has(third) && rest.length === 0
  return !isSubresource
}

type TargetBase = Pick<RequestTarget, 'group' | 'version' | 'resource' | 'namespace'>

function targetOf(base: TargetBase, name: string, subresource: readonly string[]): RequestTarget {
  return { ...base, name, subresource: subresource.join('/'), isNamed: name !== '' }
}

function verbOf(method: string, query: URLSearchParams, isNamed: boolean): string {
  switch (method) {
    case 'POST':
      return 'create'
    case 'PUT':
      return 'update'
    case 'PATCH':
      return 'patch'
    case 'DELETE':
      return isNamed ? 'delete' : 'deletecollection'
    case 'GET':
    case 'HEAD':
      if (isNamed) return 'get'
      return isTrue(query.get('watch')) ? 'watch' : 'list'
    default:
      return method.toLowerCase()
  }
}

/** How the API server reads a boolean query parameter: present and neither `false` nor `0`. */
export function isTrue(parameter: string | null): boolean {
  return parameter !== null && parameter !== 'false' && parameter !== '0'
}
