import { isJsonObject, type JsonObject, type JsonValue } from '../objects/json-value.ts'

/** Applies a JSON Merge Patch (RFC 7396) to a copy: null removes a field, objects merge, any other value replaces. */
export function applyMergePatch(document: JsonValue | undefined, patch: JsonValue): JsonValue {
  if (!isJsonObject(patch)) return patch
  const entries = new Map<string, JsonValue>(isJsonObject(document) ? Object.entries(document) : [])
  for (const [field, value] of Object.entries(patch)) {
    if (value === null) entries.delete(field)
    else entries.set(field, applyMergePatch(entries.get(field), value))
  }
  return Object.fromEntries(entries) satisfies JsonObject
}
