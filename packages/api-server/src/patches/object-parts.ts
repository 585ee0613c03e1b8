import { isJsonObject, type JsonObject, type JsonValue } from '../objects/json-value.ts'
import { schemaOfField, type ListSchema, type Schema } from '../resources/object-schema.ts'

/** A part of an object that can have its own owner: a field, or an item of a list that is merged item by item. */
export interface ObjectPart {
  /** The path element in FieldsV1, such as `f:name`. */
  readonly element: string
  readonly value: JsonValue
  readonly schema: Schema
}

/** The parts of a value; `undefined` for a value that is owned as a whole. */
export function partsOf(value: JsonValue, schema: Schema): ObjectPart[] | undefined {
  if (isJsonObject(value)) {
    if (isAtomic(schema)) return undefined
    return Object.entries(value).map(([field, content]) => ({
      element: `f:${field}`,
      value: content,
      schema: schemaOfField(schema, field),
    }))
  }
  if (!Array.isArray(value) || schema.kind !== 'list' || schema.listType === 'atomic') return undefined
  return value.map((item) => ({ element: itemElement(item, schema), value: item, schema: schema.items }))
}

/** Whether a value of this schema is always owned as a whole. */
function isAtomic(schema: Schema): boolean {
  return (schema.kind === 'object' || schema.kind === 'map') && schema.atomic
}

/** The path element that identifies an item of a `set` or `map` list. */
function itemElement(item: JsonValue, schema: ListSchema): string {
  if (schema.listType === 'set') return `v:${JSON.stringify(item)}`
  const given = isJsonObject(item) ? item : {}
  const keys = [...schema.keys].sort().filter((key) => given[key] !== undefined)
  return `k:${JSON.stringify(Object.fromEntries(keys.map((key) => [key, given[key]])))}`
}

/** A copy of the value without the part at a path. */
export function withoutPart(value: JsonValue, schema: Schema, path: readonly string[]): JsonValue {
  const [first, ...rest] = path
  const parts = partsOf(value, schema)
  if (first === undefined || parts === undefined) return value
  const kept = parts.flatMap((part): ObjectPart[] => {
    if (part.element !== first) return [part]
    return rest.length === 0 ? [] : [{ ...part, value: withoutPart(part.value, part.schema, rest) }]
  })
  return assemble(kept, value)
}

/** Assembles parts into a list or an object, whichever `like` is. */
export function assemble(parts: readonly ObjectPart[], like: JsonValue): JsonValue {
  if (Array.isArray(like)) return parts.map((part) => part.value)
  return Object.fromEntries(
    parts.map((part): [string, JsonValue] => [part.element.slice(2), part.value]),
  ) satisfies JsonObject
}
