import { asString, equalJson, isJsonObject, type JsonObject, type JsonValue } from '../objects/json-value.ts'
import { schemaOfField, type Schema } from '../resources/object-schema.ts'

const DIRECTIVE = '$patch'
const DELETE_FROM_LIST = '$deleteFromPrimitiveList/'
/** Directives for the order of lists and the keys of unions. They are ignored: the patch decides the order. */
const IGNORED = ['$setElementOrder/', '$retainKeys']

/**
 * Applies a strategic merge patch: a merge patch that merges lists by key where the kind says so, with the directives
 * `$patch: replace | delete` and `$deleteFromPrimitiveList`.
 */
export function applyStrategicMergePatch(document: JsonValue | undefined, patch: JsonValue, schema: Schema): JsonValue {
  if (Array.isArray(patch)) return mergeLists(document, patch, schema)
  if (!isJsonObject(patch)) return patch
  const { [DIRECTIVE]: directive, ...content } = patch
  if (directive === 'replace') return content
  if (directive === 'delete') return {}
  const entries = new Map<string, JsonValue>(isJsonObject(document) ? Object.entries(document) : [])
  for (const [field, value] of Object.entries(content)) mergeField(entries, { field, value, schema })
  return Object.fromEntries(entries)
}

function mergeField(
  entries: Map<string, JsonValue>,
  { field, value, schema }: { field: string; value: JsonValue; schema: Schema },
): void {
  if (IGNORED.some((prefix) => field.startsWith(prefix))) return
  if (field.startsWith(DELETE_FROM_LIST)) {
    const name = field.slice(DELETE_FROM_LIST.length)
    const list = entries.get(name)
    const gone = Array.isArray(value) ? value : []
    if (Array.isArray(list))
      entries.set(
        name,
        list.filter((item) => !gone.some((each) => equalJson(each, item))),
      )
    return
  }
  if (value === null) entries.delete(field)
  else entries.set(field, applyStrategicMergePatch(entries.get(field), value, schemaOfField(schema, field)))
}

function mergeLists(document: JsonValue | undefined, patch: JsonValue[], schema: Schema): JsonValue {
  const before = Array.isArray(document) ? document : []
  if (schema.kind !== 'list' || schema.listType === 'atomic') return patch
  if (schema.listType === 'set')
    return [...before, ...patch.filter((item) => !before.some((each) => equalJson(each, item)))]
  const items = patch.filter(isJsonObject)
  if (items.some((item) => item[DIRECTIVE] === 'replace')) return items.filter((item) => item[DIRECTIVE] === undefined)
  const key = schema.keys[0] ?? ''
  return items.reduce<JsonValue[]>((list, item) => mergeItem(list, item, { key, schema: schema.items }), [...before])
}

function mergeItem(list: JsonValue[], item: JsonObject, { key, schema }: { key: string; schema: Schema }): JsonValue[] {
  const index = list.findIndex((each) => isJsonObject(each) && equalJson(each[key], item[key]))
  if (asString(item[DIRECTIVE]) === 'delete') return list.filter((_each, position) => position !== index)
  if (index === -1) return [...list, applyStrategicMergePatch(undefined, item, schema)]
  return list.with(index, applyStrategicMergePatch(list[index], item, schema))
}
