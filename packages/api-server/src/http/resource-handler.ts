import { textOf } from '@tenure/core/internal'
import { ApiStatusError, badRequest, invalid, methodNotAllowed, unsupportedMediaType } from '../objects/api-status.ts'
import { encodeAnswer, encodeAnswerList, type AnswerForm } from '../objects/answer-encoding.ts'
import type { AuthenticatedUser } from '../access/authentication.ts'
import type { Attributes } from '../access/attributes.ts'
import type { Authorizer } from '../access/authorization.ts'
import { jsonAnswer, type HttpAnswer } from './http-answer.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../objects/json-value.ts'
import type { KubeObject } from '../objects/kube-object.ts'
import { decodeProtobufBody, ProtobufError } from '../objects/protobuf-body.ts'
import { readListOptions } from '../objects/list-options.ts'
import type { ObjectApi } from '../objects/object-api.ts'
import type { ObjectRequest } from '../objects/object-request.ts'
import { encodeObject } from '../objects/object-encoding.ts'
import { listObjects } from '../objects/object-listing.ts'
import { changeByPatch } from '../objects/object-patching.ts'
import { isTrue, type RequestInfo, type RequestTarget } from './request-info.ts'
import type { ResourceCatalog } from '../resources/resource-catalog.ts'
import type { ResourceDefinition } from '../resources/resource-definition.ts'
import { readObject, unreadable, type FieldValidation } from '../objects/read-object.ts'
import { unsupportedValue } from '../objects/field-causes.ts'
import type { Store } from '../storage/store.ts'

/** An authorized request for a resource, with its whole body. */
export interface ResourceRequest {
  readonly info: RequestInfo
  readonly target: RequestTarget
  readonly contentType: string
  readonly form: AnswerForm
  readonly userAgent: string
  readonly user: AuthenticatedUser
  readonly body: Buffer
}

/** The parts of a {@link ResourceHandler}. */
export interface ResourceHandlerParts {
  readonly store: Store
  readonly catalog: ResourceCatalog
  readonly objects: ObjectApi
  readonly authorizer: Authorizer
}

/** Answers requests for resources, except watches. */
export class ResourceHandler {
  readonly #parts: ResourceHandlerParts

  constructor(parts: ResourceHandlerParts) {
    this.#parts = parts
  }

  /** The resource that a request names; `undefined` if the server does not have it. */
  find(target: RequestTarget): ResourceDefinition | undefined {
    const definition = this.#parts.catalog.find(target.group, target.version, target.resource)
    if (definition === undefined) return undefined
    if (target.subresource !== '' && !definition.subresources.includes(target.subresource)) return undefined
    return definition
  }

  /** @throws ApiStatusError if the request fails */
  handle(request: ResourceRequest): HttpAnswer {
    const definition = this.find(request.target)
    if (definition === undefined) {
      return this.#parts.catalog.answerUnknown(request.target.group, request.target.version)
    }
    if (definition.isReview) return this.#review(definition, request)
    const warnings = definition.deprecation === undefined ? [] : [definition.deprecation]
    if (request.info.verb === 'get') return withWarnings(this.#get(definition, request), warnings)
    if (request.info.verb === 'list') return withWarnings(this.#list(definition, request), warnings)
    const answer = this.#write(definition, request, (message) => warnings.push(message))
    return withWarnings(answer, warnings)
  }

  #get(definition: ResourceDefinition, { target, form }: ResourceRequest): HttpAnswer {
    const object = this.#parts.objects.get(definition, target.namespace, target.name)
    return jsonAnswer(200, encodeAnswer(definition, object, form))
  }

  #review(definition: ResourceDefinition, request: ResourceRequest): HttpAnswer {
    if (request.info.verb !== 'create') throw methodNotAllowed()
    const { authorizer } = this.#parts
    const options = { fieldValidation: 'Ignore', warn: () => undefined } as const
    const review = readObject(parseBody(request, definition), definition, options)
    const { user } = request
    const isAllowed = (attributes: Attributes): boolean => authorizer.isAllowed(attributes)
    const rulesIn = (namespace: string): JsonObject[] => authorizer.rulesIn(user, namespace)
    return jsonAnswer(201, encodeObject(definition, definition.review(review, { user, isAllowed, rulesIn })))
  }

  #list(definition: ResourceDefinition, { info, target, form }: ResourceRequest): HttpAnswer {
    const options = readListOptions(info.query, definition, false)
    const scope = { definition, namespace: namespaceScope(definition, target) }
    return jsonAnswer(200, encodeAnswerList(definition, listObjects(this.#parts.store, scope, options), form))
  }

  #write(definition: ResourceDefinition, request: ResourceRequest, warn: (message: string) => void): HttpAnswer {
    const toWrite = readObjectRequest(definition, request, warn)
    switch (request.info.verb) {
      case 'create':
        return this.#create(toWrite, request)
      case 'update':
        return this.#update(toWrite, request)
      case 'patch':
        return this.#patch(toWrite, request)
      case 'delete':
        return this.#delete(toWrite, request)
      case 'deletecollection':
        return this.#deleteCollection(toWrite, request)
      default:
        throw methodNotAllowed()
    }
  }

  #create(toCreate: ObjectRequest, request: ResourceRequest): HttpAnswer {
    const { definition, namespace } = toCreate
    if (request.target.isNamed) throw methodNotAllowed()
    if (definition.namespaced && namespace === '') throw methodNotAllowed()
    const object = this.#parts.objects.create(toCreate, parseBody(request, definition))
    return jsonAnswer(201, encodeAnswer(definition, object, request.form))
  }

  #update(toUpdate: ObjectRequest, request: ResourceRequest): HttpAnswer {
    const { definition } = toUpdate
    if (!request.target.isNamed) throw methodNotAllowed()
    const { object, created } = this.#parts.objects.update(toUpdate, parseBody(request, definition))
    return jsonAnswer(created ? 201 : 200, encodeAnswer(definition, object, request.form))
  }

  #patch(toPatch: ObjectRequest, request: ResourceRequest): HttpAnswer {
    if (!request.target.isNamed) throw methodNotAllowed()
    const { object, created } = changeByPatch(this.#parts.objects, toPatch, readPatch(request))
    return jsonAnswer(created ? 201 : 200, encodeAnswer(toPatch.definition, object, request.form))
  }

  #delete(toDelete: ObjectRequest, request: ResourceRequest): HttpAnswer {
    const { definition } = toDelete
    if (toDelete.subresource !== '') throw methodNotAllowed()
    const options = readDeleteOptions(request, definition)
    const outcome = this.#parts.objects.deletion.delete({ ...toDelete, ...options })
    if (!outcome.gone || definition.returnsDeleted)
      return jsonAnswer(200, encodeAnswer(definition, outcome.object, request.form))
    return jsonAnswer(200, deletedStatus(definition, outcome.object))
  }

  #deleteCollection(toDelete: ObjectRequest, request: ResourceRequest): HttpAnswer {
    const { store, objects } = this.#parts
    const { definition } = toDelete
    const listOptions = readListOptions(request.info.query, definition, false)
    const scope = { definition, namespace: namespaceScope(definition, request.target) }
    const options = readDeleteOptions(request, definition)
    const page = listObjects(store, scope, listOptions)
    const items = page.items.map((object) => {
      const { namespace = '', name = '' } = object.metadata
      return objects.deletion.delete({ ...toDelete, ...options, namespace, name }).object
    })
    const metadata = { ...page.metadata, resourceVersion: String(store.version) }
    return jsonAnswer(200, encodeAnswerList(definition, { items, metadata }, request.form))
  }
}

/** The namespace of a list or watch; `undefined` for all namespaces. */
export function namespaceScope(definition: ResourceDefinition, target: RequestTarget): string | undefined {
  return definition.namespaced && target.namespace !== '' ? target.namespace : undefined
}

function readObjectRequest(
  definition: ResourceDefinition,
  { info, target, userAgent }: ResourceRequest,
  warn: (message: string) => void,
): ObjectRequest {
  const fieldManager = info.query.get('fieldManager') ?? ''
  return {
    definition,
    namespace: definition.namespaced ? target.namespace : '',
    name: target.name,
    subresource: target.subresource,
    manager: fieldManager === '' ? managerOf(userAgent) : fieldManager,
    dryRun: readDryRun(info.query.getAll('dryRun')),
    fieldValidation: readFieldValidation(info.query.get('fieldValidation')),
    warn,
  }
}

/** The field manager of a client that names none: the first part of its user agent. */
function managerOf(userAgent: string): string {
  const name = userAgent.split('/')[0] ?? ''
  return name === '' ? 'unknown' : name.slice(0, 128)
}

function readDryRun(values: readonly string[]): boolean {
  const asked = values.filter((value) => value !== '')
  if (asked.some((value) => value !== 'All')) {
    const subject = { group: 'meta.k8s.io', resource: '', kind: 'CreateOptions', name: '' }
    throw invalid(subject, [unsupportedValue('dryRun', asked, ['All'])])
  }
  return asked.length > 0
}

function readFieldValidation(value: string | null): FieldValidation {
  return value === 'Ignore' || value === 'Strict' ? value : 'Warn'
}

const PROTOBUF = 'application/vnd.kubernetes.protobuf'
const JSON_TYPES: ReadonlySet<string> = new Set(['', 'application/json'])

function parseBody({ contentType, body }: ResourceRequest, definition: ResourceDefinition): JsonValue {
  if (contentType === PROTOBUF && !definition.isCustom) return parseProtobuf(body, definition)
  if (!JSON_TYPES.has(contentType)) throw unsupportedMediaType(['application/json', PROTOBUF])
  return parseJson(body.toString(), (why) => unreadable(definition, why))
}

function parseProtobuf(body: Buffer, { kind }: ResourceDefinition): JsonObject {
  try {
    return decodeProtobufBody(body)
  } catch (error) {
    if (!(error instanceof ProtobufError)) throw error
    throw badRequest(`the object provided is unrecognized (must be of type ${kind}): ${error.message}`)
  }
}

function parseJson(body: string, errorFor: (why: string) => ApiStatusError): JsonValue {
  try {
    return JSON.parse(body) as JsonValue
  } catch (error) {
    throw errorFor(textOf(error))
  }
}

const PATCH_TYPES = {
  'application/json-patch+json': 'json',
  'application/merge-patch+json': 'merge',
  'application/strategic-merge-patch+json': 'strategic',
  'application/apply-patch+yaml': 'apply',
} as const

function readPatch(request: ResourceRequest): Parameters<typeof changeByPatch>[2] {
  const { contentType, info, body } = request
  const type = Object.entries(PATCH_TYPES).find(([mediaType]) => mediaType === contentType)?.[1]
  if (type === undefined) {
    throw new ApiStatusError(415, 'UnsupportedMediaType', '415: Unsupported Media Type', { details: {} })
  }
  const content = parseJson(body.toString(), (why) => badRequest(`error decoding patch: ${why}`))
  return { type, content, force: isTrue(info.query.get('force')), fieldManager: info.query.get('fieldManager') ?? '' }
}

function readDeleteOptions(
  request: ResourceRequest,
  definition: ResourceDefinition,
): { options: JsonObject; dryRun: boolean } {
  const body = request.body.length === 0 ? {} : parseBody(request, definition)
  if (!isJsonObject(body) || (body['kind'] ?? 'DeleteOptions') !== 'DeleteOptions') {
    throw badRequest('the body of a DELETE request must be DeleteOptions')
  }
  const dryRun = [...request.info.query.getAll('dryRun'), ...[body['dryRun'] ?? []].flat().map(String)]
  return { options: body, dryRun: readDryRun(dryRun) }
}

function deletedStatus(definition: ResourceDefinition, object: KubeObject): JsonObject {
  const { group, resource } = definition
  const { name = '', uid = '' } = object.metadata
  const details = { name, ...(group === '' ? {} : { group }), kind: resource, uid }
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details }
}

function withWarnings(answer: HttpAnswer, warnings: readonly string[]): HttpAnswer {
  return warnings.length === 0 ? answer : { ...answer, headers: { warning: warnings.map(formatWarning).join(', ') } }
}

function formatWarning(message: string): string {
  return `299 - ${JSON.stringify(message)}`
}
