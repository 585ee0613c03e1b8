import { ApiStatusError, badRequest, unsupportedMediaType } from './api-status.ts'
import { applyJsonPatch, JsonPatchError } from './json-patch.ts'
import { isJsonObject, type JsonValue } from './json-value.ts'
import type { KubeObject } from './kube-object.ts'
import { applyMergePatch } from './merge-patch.ts'
import type { ObjectApi, ObjectRequest, WriteOutcome } from './object-api.ts'
import { served } from './object-encoding.ts'
import { readObject } from './read-object.ts'

/** A PATCH: how it is written, and what it says. */
export interface ObjectPatch {
  readonly type: 'json' | 'merge' | 'strategic' | 'apply'
  readonly content: JsonValue
  /** The query parameters of server-side apply. */
  readonly force: string | null
  readonly fieldManager: string | null
}

/** Changes an object by a patch. @throws ApiStatusError when the patch cannot be read or does not fit */
export function changeByPatch(objects: ObjectApi, request: ObjectRequest, patch: ObjectPatch): WriteOutcome {
  return objects.change(request, (previous) => patched(previous, request, patch), false)
}

function patched(previous: KubeObject | undefined, request: ObjectRequest, patch: ObjectPatch): KubeObject {
  const { definition } = request
  const before = previous === undefined ? {} : served(definition, previous)
  return readObject(patchJson(before, patch), definition, request)
}

function patchJson(before: JsonValue, patch: ObjectPatch): JsonValue {
  if (patch.type === 'json') return applyOrRefuse(before, patch.content)
  if (patch.type !== 'merge') throw unsupportedMediaType(['application/json-patch+json', 'application/merge-patch+json'])
  if (!isJsonObject(patch.content)) throw badRequest('a merge patch of an object is an object')
  return applyMergePatch(before, patch.content)
}

function applyOrRefuse(before: JsonValue, patch: JsonValue): JsonValue {
  try {
    return applyJsonPatch(before, patch)
  } catch (error) {
    if (!(error instanceof JsonPatchError)) throw error
    if (error.failure === 'malformed') throw badRequest(error.message)
    const message = `the server rejected our request due to an error in our request`
    throw new ApiStatusError(422, 'Invalid', message, { details: {} })
  }
}
