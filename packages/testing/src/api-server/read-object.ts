import { ApiStatusError, badRequest } from './api-status.ts'
import { DecodeError, decodeObject } from './decode-object.ts'
import { asJsonObject, asString, isJsonObject, type JsonObject, type JsonValue } from './json-value.ts'
import type { KubeObject } from './kube-object.ts'
import { apiVersionOf, type ResourceDefinition } from './resource-definition.ts'

/** What to do about fields that the kind does not have: the query parameter `fieldValidation`. */
export type FieldValidation = 'Ignore' | 'Warn' | 'Strict'

/** How a body is to be read. */
export interface ReadOptions {
  readonly fieldValidation: FieldValidation
  /** Adds a `Warning` header to the answer. */
  readonly warn: (message: string) => void
}

/**
 * Reads a body as an object of the resource, in the stored form.
 *
 * @throws ApiStatusError 400 when it is of another kind or version, or a value has the wrong type.
 */
export function readObject(body: JsonValue, definition: ResourceDefinition, options: ReadOptions): KubeObject {
  if (!isJsonObject(body)) throw unreadable(definition, 'the body is not an object')
  assertKind(body, definition)
  return definition.withDefaults(decodeAs(body, definition, options))
}

/** 400 for a body that is no object of any kind. */
export function unreadable(definition: ResourceDefinition, why: string): ApiStatusError {
  const what = `the object provided is unrecognized (must be of type ${definition.kind})`
  return badRequest(`${what}: couldn't get version/kind; json parse error: ${why}`)
}

function assertKind(body: JsonObject, definition: ResourceDefinition): void {
  const expected = apiVersionOf(definition)
  // A body without type is taken for what the path says.
  const apiVersion = asString(body['apiVersion']) ?? expected
  const kind = asString(body['kind']) ?? definition.kind
  if (kind === definition.kind && apiVersion === expected) return
  const version = apiVersion.split('/').at(-1) ?? ''
  const why = `no kind ${JSON.stringify(kind)} is served under version ${JSON.stringify(apiVersion)} at this path`
  throw badRequest(`${kind} in version ${JSON.stringify(version)} cannot be handled as a ${definition.kind}: ${why}`)
}

function decodeAs(body: JsonObject, definition: ResourceDefinition, options: ReadOptions): KubeObject {
  const { kind, version } = definition
  const decoded = decodeOrRefuse(body, definition)
  if (decoded.unknownFields.length > 0 && options.fieldValidation !== 'Ignore') {
    const told = decoded.unknownFields.map((path) => `unknown field "${path}"`)
    if (options.fieldValidation === 'Strict') {
      const why = `strict decoding error: ${told.join(', ')}`
      throw badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: ${why}`)
    }
    for (const each of told) options.warn(each)
  }
  const typed = { apiVersion: apiVersionOf(definition), kind, metadata: asJsonObject(decoded.object['metadata']) }
  return definition.toStored({ ...typed, ...decoded.object, ...typed })
}

function decodeOrRefuse(body: JsonObject, definition: ResourceDefinition): ReturnType<typeof decodeObject> {
  try {
    return decodeObject(body, definition.schema)
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    const { kind, version } = definition
    const message = `${kind} in version "${version}" cannot be handled as a ${kind}: ${error.message}`
    throw new ApiStatusError(400, 'BadRequest', message)
  }
}
