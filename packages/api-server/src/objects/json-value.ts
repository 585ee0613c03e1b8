/** Any JSON value. Stored values are shared: copy a value before you change it. */
export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject

/** A JSON object. */
export interface JsonObject {
  [field: string]: JsonValue
}

/** Whether `value` is an object: neither `null` nor a list. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns `value` if it is an object, otherwise an empty object. */
export function asJsonObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {}
}

/** Returns `value` if it is a string, otherwise `undefined`. */
export function asString(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** The strings in a list. Skips other items; empty if `value` is not a list. */
export function asStrings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}

/** The objects in a list. Skips other items; empty if `value` is not a list. */
export function asJsonObjects(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : []
}

/** Whether two values are equal, regardless of the order of fields. */
export function equalJson(left: JsonValue | undefined, right: JsonValue | undefined): boolean {
  if (left === right) return true
  if (Array.isArray(left)) {
    if (!Array.isArray(right) || left.length !== right.length) return false
    return left.every((item, index) => equalJson(item, right[index]))
  }
  if (!isJsonObject(left) || !isJsonObject(right)) return false
  const fields = Object.keys(left)
  if (fields.length !== Object.keys(right).length) return false
  return fields.every((field) => Object.hasOwn(right, field) && equalJson(left[field], right[field]))
}

/** A copy that shares nothing with `value`. */
export function cloneJson<T extends JsonValue>(value: T): T {
  return structuredClone(value)
}

/** The value at a dotted path such as `spec.nodeName`; `undefined` if there is none. */
export function valueAt(object: JsonObject, path: string): JsonValue | undefined {
  let value: JsonValue | undefined = object
  for (const field of path.split('.')) {
    if (!isJsonObject(value)) return undefined
    value = value[field]
  }
  return value
}
