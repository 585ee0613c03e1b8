import { jsonAnswer, OPENAPI_V2_PROTOBUF, pageNotFound, textAnswer, type HttpAnswer } from './http-answer.ts'
import type { JsonObject } from '../objects/json-value.ts'
import { encodeOpenApiV2 } from '../openapi/protobuf-document.ts'
import { openApiV2, openApiV3, openApiV3Index } from '../openapi/openapi-documents.ts'
import { negotiate } from './negotiation.ts'
import type { ApiGroup, ResourceCatalog } from '../resources/resource-catalog.ts'
import type { ResourceDefinition } from '../resources/resource-definition.ts'

/** The Kubernetes version that the server imitates. */
const VERSION: JsonObject = {
  major: '1',
  minor: '36',
  gitVersion: 'v1.36.3+tenure',
  gitCommit: '',
  gitTreeState: 'clean',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: '',
  compiler: '',
  platform: `${process.platform}/${process.arch}`,
}

const HEALTH_PATHS: ReadonlySet<string> = new Set(['/healthz', '/livez', '/readyz'])

/** A GET request for a non-resource path. */
export interface PlainRequest {
  readonly path: string
  /** The `Accept` header. */
  readonly accept: string | undefined
}

/** What a server that waits for an informer answers to `/readyz`. */
const NOT_READY = '[+]ping ok\n[-]informer-sync failed: reason withheld\nreadyz check failed\n'

/**
 * Answers a GET request for a non-resource path: version, health, discovery, OpenAPI documents.
 *
 * @throws ApiStatusError 406 if the client does not accept the document in JSON
 */
export function answerPlainPath(
  { path, accept }: PlainRequest,
  { catalog, isReady }: { readonly catalog: ResourceCatalog; readonly isReady: boolean },
): HttpAnswer {
  const trimmed = path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
  if (trimmed === '/version') return jsonAnswer(200, VERSION)
  if (HEALTH_PATHS.has(trimmed)) return answerHealth(trimmed, isReady)
  if (trimmed.startsWith('/openapi/')) return answerOpenApi(trimmed.slice('/openapi/'.length), accept, catalog)
  return answerDiscovery(trimmed, catalog)
}

function answerHealth(path: string, isReady: boolean): HttpAnswer {
  return path === '/readyz' && !isReady ? textAnswer(500, NOT_READY) : textAnswer(200, 'ok')
}

function answerDiscovery(path: string, catalog: ResourceCatalog): HttpAnswer {
  const [root, group = '', version, ...rest] = path.split('/').slice(1)
  if (rest.length > 0) return pageNotFound()
  if (root === 'api') return answerCore(group, version, catalog)
  if (root === 'apis') return answerGroups(group, version, catalog)
  return pageNotFound()
}

function answerOpenApi(path: string, accept: string | undefined, catalog: ResourceCatalog): HttpAnswer {
  if (path === 'v2' && accept?.startsWith(OPENAPI_V2_PROTOBUF.asked) === true) {
    return { status: 200, body: encodeOpenApiV2(openApiV2(catalog)), contentType: OPENAPI_V2_PROTOBUF.answered }
  }
  if (path === 'v3') return jsonAnswer(200, openApiV3Index(catalog))
  negotiate(accept, new URLSearchParams())
  if (path === 'v2') return jsonAnswer(200, openApiV2(catalog))
  const document = path.startsWith('v3/') ? openApiV3(catalog, path.slice('v3/'.length)) : undefined
  return document === undefined ? pageNotFound() : jsonAnswer(200, document)
}

function answerCore(version: string, more: string | undefined, catalog: ResourceCatalog): HttpAnswer {
  if (version === '') return jsonAnswer(200, { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] })
  return version === 'v1' && more === undefined ? answerResources('', 'v1', catalog) : pageNotFound()
}

function answerGroups(name: string, version: string | undefined, catalog: ResourceCatalog): HttpAnswer {
  if (name === '') {
    return jsonAnswer(200, { kind: 'APIGroupList', apiVersion: 'v1', groups: catalog.groups().map(describeGroup) })
  }
  const group = catalog.groups().find((each) => each.name === name)
  if (group === undefined) return pageNotFound()
  if (version !== undefined) return answerResources(name, version, catalog)
  return jsonAnswer(200, { kind: 'APIGroup', apiVersion: 'v1', ...describeGroup(group) })
}

function describeGroup({ name, versions }: ApiGroup): JsonObject {
  const described = versions.map((version) => ({ groupVersion: `${name}/${version}`, version }))
  return { name, versions: described, preferredVersion: described[0] ?? {} }
}

function answerResources(group: string, version: string, catalog: ResourceCatalog): HttpAnswer {
  const definitions = catalog.resourcesOf(group, version)
  if (definitions.length === 0) return pageNotFound()
  const groupVersion = group === '' ? version : `${group}/${version}`
  const resources = definitions.flatMap((each) => [describeResource(each), ...describeSubresources(each)])
  return jsonAnswer(200, { kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources })
}

const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']

function describeResource(definition: ResourceDefinition): JsonObject {
  const { resource, singular, namespaced, kind, shortNames, categories } = definition
  return {
    name: resource,
    singularName: singular,
    namespaced,
    kind,
    verbs: definition.isReview ? ['create'] : VERBS,
    ...(shortNames.length === 0 ? {} : { shortNames: [...shortNames] }),
    ...(categories.length === 0 ? {} : { categories: [...categories] }),
  }
}

function describeSubresources({ subresources, resource, namespaced, kind }: ResourceDefinition): JsonObject[] {
  return subresources.map((subresource) => ({
    name: `${resource}/${subresource}`,
    singularName: '',
    namespaced,
    kind,
    verbs: subresource === 'finalize' ? ['update'] : ['get', 'patch', 'update'],
  }))
}
