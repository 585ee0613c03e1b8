import { ApiStatusError, badRequest } from './api-status.ts'
import { DecodeError, type Decoded } from './decode-object.ts'
import { asJsonObject, asString, isJsonObject, type JsonObject, type JsonValue } from './json-value.ts'
import type { KubeObject } from './kube-object.ts'
import { apiVersionOf, type ResourceDefinition } from '../resources/resource-definition.ts'

/** How to treat unknown fields: the query parameter `fieldValidation`. */
export type FieldValidation = 'Ignore' | 'Warn' | 'Strict'

/** How to read a body. */
export interface ReadOptions {
  readonly fieldValidation: FieldValidation
  /** Adds a `Warning` header to the answer. */
  readonly warn: (message: string) => void
}

/**
 * Reads a body as an object of the resource, in the stored form.
 *
 * @throws ApiStatusError 400 if the kind or version differs, or a value has the wrong type.
 */
export function readObject(body: JsonValue, definition: ResourceDefinition, options: ReadOptions): KubeObject {
  if (!isJsonObject(body)) throw unreadable(definition, 'the body is not an object')
  assertKind(body, definition)
  const { object, unknownFields } = decodeOrRefuse(body, definition)
  reportUnknown(unknownFields, definition, options)
  return definition.withDefaults(asKind(object, definition))
}

/** 400 for a body that is not a Kubernetes object. */
export function unreadable(definition: ResourceDefinition, why: string): ApiStatusError {
  const what = `the object provided is unrecognized (must be of type ${definition.kind})`
  return badRequest(`${what}: couldn't get version/kind; json parse error: ${why}`)
}

function assertKind(body: JsonObject, definition: ResourceDefinition): void {
  const expected = apiVersionOf(definition)
  // A body without a type gets the type of the resource in the path.
  const apiVersion = asString(body['apiVersion']) ?? expected
  const kind = asString(body['kind']) ?? definition.kind
  if (kind === definition.kind && apiVersion === expected) return
  const version = apiVersion.split('/').at(-1) ?? ''
  const why = `no kind ${JSON.stringify(kind)} is served under version ${JSON.stringify(apiVersion)} at this path`
  throw badRequest(`${kind} in version ${JSON.stringify(version)} cannot be handled as a ${definition.kind}: ${why}`)
}

function reportUnknown(paths: readonly string[], { kind, version }: ResourceDefinition, options: ReadOptions): void {
  if (paths.length === 0 || options.fieldValidation === 'Ignore') return
  const told = paths.map((path) => `unknown field "${path}"`)
  if (options.fieldValidation === 'Strict') {
    const why = `strict decoding error: ${told.join(', ')}`
    throw badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: ${why}`)
  }
  for (const each of told) options.warn(each)
}

function asKind(object: JsonObject, definition: ResourceDefinition): KubeObject {
  const type = { apiVersion: apiVersionOf(definition), kind: definition.kind }
  return definition.toStored({ ...object, ...type, metadata: asJsonObject(object['metadata']) })
}

/**
 * Reads the body of a server-side apply, in the served form. Adds no defaults, because the applier owns every field it sends.
 *
 * @throws ApiStatusError for another kind, an unknown field or a value of the wrong type
 */
export function readApplied(body: JsonObject, definition: ResourceDefinition): KubeObject {
  const { apiVersion = '', kind = '', metadata } = body
  if (apiVersion !== apiVersionOf(definition) || kind !== definition.kind) {
    throw badRequest(`invalid object type: ${apiVersion === '' ? '/' : String(apiVersion)}, Kind=${String(kind)}`)
  }
  const { object, unknownFields } = decodeOrRefuse(body, definition)
  const { namespace = '', name = '' } = asJsonObject(metadata)
  if (unknownFields.length > 0) {
    const what = `${String(namespace)}/${String(name)}; ${definition.group}/${definition.version}, Kind=${definition.kind}`
    const why = unknownFields.map((path) => `.${path}: field not declared in schema`).join('\n')
    throw new ApiStatusError(500, '', `failed to create typed patch object (${what}): ${why}`)
  }
  return definition.fromStored(asKind(object, definition))
}

function decodeOrRefuse(body: JsonObject, definition: ResourceDefinition): Decoded {
  try {
    return definition.decode(body)
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    const { kind, version } = definition
    const message = `${kind} in version "${version}" cannot be handled as a ${kind}: ${error.message}`
    throw new ApiStatusError(400, 'BadRequest', message)
  }
}
