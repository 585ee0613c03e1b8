/** The OpenAPI documents of the served resources: one v2 document, and one v3 document per group version. */
import { createHash } from 'node:crypto'
import type { JsonObject } from '../objects/json-value.ts'
import type { ResourceCatalog } from '../resources/resource-catalog.ts'
import type { ResourceDefinition } from '../resources/resource-definition.ts'
import { groupVersionKindOf, KindSchemas, rootPathOf } from './kind-schemas.ts'

const INFO = { title: 'Tenure embedded API server', version: 'v1.36.3+tenure' }

/** The index of the OpenAPI v3 documents. */
export function openApiV3Index(catalog: ResourceCatalog): JsonObject {
  const paths: JsonObject = {}
  for (const [path, document] of documentsV3(catalog)) {
    const hash = createHash('sha256').update(JSON.stringify(document)).digest('hex').toUpperCase()
    paths[path] = { serverRelativeURL: `/openapi/v3/${path}?hash=${hash}` }
  }
  return { paths }
}

/** The OpenAPI v3 document of a path such as `apis/apps/v1` or `api/v1`; `undefined` if it serves no resources. */
export function openApiV3(catalog: ResourceCatalog, path: string): JsonObject | undefined {
  return documentsV3(catalog).get(path)
}

/** The OpenAPI v2 document. */
export function openApiV2(catalog: ResourceCatalog): JsonObject {
  const schemas = new KindSchemas('#/definitions/')
  const paths = Object.assign({}, ...catalog.all().map((each) => pathsV2(each, schemas.addKind(each)))) as JsonObject
  return { swagger: '2.0', info: INFO, paths, definitions: schemas.toJson() }
}

function documentsV3(catalog: ResourceCatalog): Map<string, JsonObject> {
  const byPath = Map.groupBy(catalog.all(), (each) => rootPathOf(each).slice(1))
  return new Map([...byPath].map(([path, definitions]) => [path, documentV3(definitions)]))
}

function documentV3(definitions: readonly ResourceDefinition[]): JsonObject {
  const schemas = new KindSchemas('#/components/schemas/')
  const paths = Object.assign({}, ...definitions.map((each) => pathsV3(each, schemas.addKind(each)))) as JsonObject
  return { openapi: '3.0.0', info: INFO, paths, components: { schemas: schemas.toJson() } }
}

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'

/** The methods of each path of a resource. */
function methodsOf(definition: ResourceDefinition): [path: string, methods: readonly Method[]][] {
  const collection = definition.namespaced ? `namespaces/{namespace}/${definition.resource}` : definition.resource
  const root = rootPathOf(definition)
  if (definition.isReview) return [[`${root}/${collection}`, ['post']]]
  const one = `${root}/${collection}/{name}`
  return [
    [`${root}/${collection}`, ['get', 'post', 'delete']],
    [one, ['get', 'put', 'patch', 'delete']],
    ...definition.subresources.map((subresource): [string, readonly Method[]] => [
      `${one}/${subresource}`,
      ['get', 'put', 'patch'],
    ]),
    ...(definition.namespaced ? ([[`${root}/${definition.resource}`, ['get']]] as [string, readonly Method[]][]) : []),
  ]
}

/** The parameters whose support kubectl checks in the document. */
const WRITE_PARAMETERS: Partial<Record<Method, readonly string[]>> = {
  post: ['dryRun', 'fieldManager', 'fieldValidation'],
  put: ['dryRun', 'fieldManager', 'fieldValidation'],
  patch: ['dryRun', 'fieldManager', 'fieldValidation', 'force'],
  delete: ['dryRun', 'gracePeriodSeconds', 'propagationPolicy'],
}

function pathsV3(definition: ResourceDefinition, schema: JsonObject): JsonObject {
  const content = { 'application/json': { schema } }
  return pathsOf(definition, (method) => ({
    parameters: (WRITE_PARAMETERS[method] ?? []).map((name) => ({ name, in: 'query', schema: { type: 'string' } })),
    ...((method === 'post' || method === 'put') && { requestBody: { content } }),
    responses: { 200: { description: 'OK', content } },
  }))
}

function pathsV2(definition: ResourceDefinition, schema: JsonObject): JsonObject {
  return pathsOf(definition, (method) => ({
    parameters: [
      ...(WRITE_PARAMETERS[method] ?? []).map((name) => ({ name, in: 'query', type: 'string' })),
      ...(method === 'post' || method === 'put' ? [{ name: 'body', in: 'body', required: true, schema }] : []),
    ],
    responses: { 200: { description: 'OK', schema } },
  }))
}

function pathsOf(definition: ResourceDefinition, operation: (method: Method) => JsonObject): JsonObject {
  const kind = { 'x-kubernetes-group-version-kind': groupVersionKindOf(definition) }
  const described = methodsOf(definition).map(([path, methods]): [string, JsonObject] => [
    path,
    Object.fromEntries(methods.map((method) => [method, { ...operation(method), ...kind }])),
  ])
  return Object.fromEntries(described)
}
