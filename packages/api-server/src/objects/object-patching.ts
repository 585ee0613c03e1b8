import { ApiStatusError, badRequest, conflict, invalid, unsupportedMediaType } from './api-status.ts'
import { invalidValue, requiredValue } from './field-causes.ts'
import { applyJsonPatch, JsonPatchError } from '../patches/json-patch.ts'
import { isJsonObject, type JsonObject, type JsonValue } from './json-value.ts'
import type { KubeObject } from './kube-object.ts'
import { ignoredFields } from '../patches/managed-fields.ts'
import { applyMergePatch } from '../patches/merge-patch.ts'
import type { ObjectApi, WriteOutcome } from './object-api.ts'
import type { ObjectRequest } from './object-request.ts'
import { served } from './object-encoding.ts'
import { readApplied, readObject } from './read-object.ts'
import { apiVersionOf, subjectOf } from '../resources/resource-definition.ts'
import { applyConfiguration, withLastApplied } from '../patches/server-side-apply.ts'
import { applyStrategicMergePatch } from '../patches/strategic-merge-patch.ts'

/** A patch: its type and its content. */
export interface ObjectPatch {
  readonly type: 'json' | 'merge' | 'strategic' | 'apply'
  readonly content: JsonValue
  /** For server-side apply: take fields from other managers. */
  readonly force: boolean
  /** For server-side apply: the name of the field manager. */
  readonly fieldManager: string
}

/** Applies a patch to an object. @throws ApiStatusError if the patch is malformed or does not fit the object */
export function changeByPatch(objects: ObjectApi, request: ObjectRequest, patch: ObjectPatch): WriteOutcome {
  if (patch.type === 'apply') return changeByApply(objects, request, patch)
  return objects.patch(request, (previous) => {
    const before = served(request.definition, previous)
    return readPatched(patchJson(before, patch, request), request)
  })
}

function patchJson(before: KubeObject, patch: ObjectPatch, { definition }: ObjectRequest): JsonValue {
  if (patch.type === 'strategic' && definition.isCustom) throw unsupportedMediaType(CUSTOM_PATCH_TYPES)
  if (patch.type === 'json') return applyOrRefuse(before, patch.content)
  if (!isJsonObject(patch.content)) {
    const what = Array.isArray(patch.content) ? 'array' : typeof patch.content
    throw badRequest(
      `error decoding patch: json: cannot unmarshal ${what} into Go value of type map[string]interface {}`,
    )
  }
  if (patch.type === 'merge') return applyMergePatch(before, patch.content)
  return applyStrategicMergePatch(before, patch.content, definition.schema)
}

const CUSTOM_PATCH_TYPES = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/apply-patch+yaml',
]

function applyOrRefuse(before: JsonValue, patch: JsonValue): JsonValue {
  try {
    return applyJsonPatch(before, patch)
  } catch (error) {
    if (!(error instanceof JsonPatchError)) throw error
    if (error.failure === 'malformed') throw badRequest(`error decoding patch: ${error.message}`)
    const message = 'the server rejected our request due to an error in our request'
    throw new ApiStatusError(422, 'Invalid', message, { details: {} })
  }
}

/** Reads a patched object. If it is not a valid object of its kind, the error blames the patch. */
function readPatched(patched: JsonValue, request: ObjectRequest): KubeObject {
  try {
    return readObject(patched, request.definition, request)
  } catch (error) {
    if (!(error instanceof ApiStatusError) || request.fieldValidation === 'Strict') throw error
    const { kind, version } = request.definition
    const why = error.message.replace(`${kind} in version "${version}" cannot be handled as a ${kind}: `, '')
    const cause = invalidValue('patch', JSON.stringify(patched), why)
    throw invalid({ group: '', resource: '', kind: '', name: '' }, [{ ...cause, message: cause.message }])
  }
}

function changeByApply(objects: ObjectApi, request: ObjectRequest, patch: ObjectPatch): WriteOutcome {
  const { definition } = request
  if (patch.fieldManager === '') {
    const subject = { group: 'meta.k8s.io', resource: '', kind: 'PatchOptions', name: '' }
    throw invalid(subject, [requiredValue('fieldManager', 'is required for apply patch')])
  }
  const config = readConfiguration(patch.content, request)
  const make = (previous: KubeObject | undefined): KubeObject => {
    if (previous === undefined && config.metadata.uid !== undefined) throw unknownUid(request, config.metadata.uid)
    const after = applyConfiguration({
      before: previous === undefined ? emptyObject(request) : definition.fromStored(previous),
      config,
      schema: definition.schema,
      writer: objects.writerOf(request, 'Apply'),
      ignored: ignoredFields(definition.subresources.includes('status'), request.subresource),
      force: patch.force,
    })
    const marked = withLastApplied(after, config, patch.fieldManager)
    return definition.withDefaults(definition.toStored(marked))
  }
  return objects.change(request, { mayCreate: request.subresource === '', make })
}

function readConfiguration(content: JsonValue, { definition, name }: ObjectRequest): KubeObject {
  if (!isJsonObject(content)) throw badRequest('error decoding YAML: the configuration is not an object')
  const metadata: JsonObject = isJsonObject(content['metadata']) ? content['metadata'] : {}
  const config = readApplied({ ...content, metadata }, definition)
  return { ...config, metadata: { ...config.metadata, name: config.metadata.name ?? name } }
}

function emptyObject({ definition, name }: ObjectRequest): KubeObject {
  return { apiVersion: apiVersionOf(definition), kind: definition.kind, metadata: { name } }
}

function unknownUid({ definition, name }: ObjectRequest, uid: string): ApiStatusError {
  const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`
  return conflict(subjectOf(definition, name), why)
}
