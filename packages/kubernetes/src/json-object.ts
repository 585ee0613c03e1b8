/** A JSON object with unknown fields. */
export type JsonObject = Readonly<Record<string, unknown>>

/** Whether the value is a JSON object: neither `null`, nor an array, nor a scalar. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The object under that key, or an empty one if there is none. */
export function objectAt(parent: JsonObject, key: string): JsonObject {
  const value = parent[key]
  return isJsonObject(value) ? value : {}
}

/** The string under that key, if it is one. */
export function stringAt(parent: JsonObject, key: string): string | undefined {
  const value = parent[key]
  return typeof value === 'string' ? value : undefined
}

/** The integer under that key, if it is one. */
export function integerAt(parent: JsonObject, key: string): number | undefined {
  const value = parent[key]
  return Number.isSafeInteger(value) ? Number(value) : undefined
}
