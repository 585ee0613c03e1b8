/** The schemas of custom resources: OpenAPI v3 in the structural form that Kubernetes requires. */
import type { FieldCause } from '../objects/api-status.ts'
import { invalidValue, requiredValue, tooLongValue, tooManyItems, unsupportedValue } from '../objects/field-causes.ts'
import {
  asJsonObject,
  asJsonObjects,
  asString,
  asStrings,
  cloneJson,
  equalJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from '../objects/json-value.ts'
import { anything, type Schema } from './object-schema.ts'

/** Converts to a schema for merging: the fields, and the ownership of lists and maps. */
export function toMergeSchema(props: JsonObject): Schema {
  if (props['type'] === 'array') return toListSchema(props)
  const isAtomic = props['x-kubernetes-map-type'] === 'atomic'
  if (isJsonObject(props['additionalProperties'])) {
    return { kind: 'map', values: toMergeSchema(props['additionalProperties']), atomic: isAtomic }
  }
  if (props['type'] !== 'object') return anything
  const fields = Object.entries(asJsonObject(props['properties'])).map(([name, field]): [string, Schema] => [
    name,
    toMergeSchema(asJsonObject(field)),
  ])
  const open = props['x-kubernetes-preserve-unknown-fields'] === true
  return { kind: 'object', name: '', fields: Object.fromEntries(fields), open, atomic: isAtomic, isStruct: false }
}

function toListSchema(props: JsonObject): Schema {
  const items = toMergeSchema(asJsonObject(props['items']))
  const keys = asStrings(props['x-kubernetes-list-map-keys'])
  const type = props['x-kubernetes-list-type']
  return { kind: 'list', items, listType: type === 'map' || type === 'set' ? type : 'atomic', keys }
}

/** Returns a copy without unknown fields and adds their paths to `unknown`. */
export function prune(value: JsonValue, props: JsonObject, path: string, unknown: string[]): JsonValue {
  if (Array.isArray(value)) {
    const items = asJsonObject(props['items'])
    return value.map((item, index) => prune(item, items, `${path}[${index}]`, unknown))
  }
  if (!isJsonObject(value)) return value
  const known = asJsonObject(props['properties'])
  const others = props['additionalProperties']
  const keepsUnknown = props['x-kubernetes-preserve-unknown-fields'] === true || others === true
  const kept: [string, JsonValue][] = []
  for (const [field, content] of Object.entries(value)) {
    const inner = path === '' ? field : `${path}.${field}`
    const schema = Object.hasOwn(known, field) ? known[field] : isJsonObject(others) ? others : undefined
    if (schema !== undefined) kept.push([field, prune(content, asJsonObject(schema), inner, unknown)])
    else if (keepsUnknown) kept.push([field, content])
    else unknown.push(inner)
  }
  return Object.fromEntries(kept)
}

/** Sets the defaults of missing fields. */
export function fillDefaults(value: JsonValue, props: JsonObject): JsonValue {
  if (Array.isArray(value)) return value.map((item) => fillDefaults(item, asJsonObject(props['items'])))
  if (!isJsonObject(value)) return value
  const filled: JsonObject = { ...value }
  const others = props['additionalProperties']
  for (const [field, schema] of Object.entries(asJsonObject(props['properties']))) {
    const standard = asJsonObject(schema)['default']
    if (!Object.hasOwn(filled, field) && standard !== undefined) filled[field] = cloneJson(standard)
  }
  for (const [field, content] of Object.entries(filled)) {
    const schema = asJsonObject(props['properties'])[field] ?? (isJsonObject(others) ? others : {})
    filled[field] = fillDefaults(content, asJsonObject(schema))
  }
  return filled
}

/** The errors in a value. CEL rules are not evaluated. */
export function validateStructure(value: JsonValue, props: JsonObject, path: string): FieldCause[] {
  if (value === null && props['nullable'] === true) return []
  const wrong = validateType(value, props, path)
  if (wrong !== undefined) return [wrong]
  const causes = validateEnum(value, props, path)
  if (typeof value === 'number') causes.push(...validateNumber(value, props, path))
  else if (typeof value === 'string') causes.push(...validateText(value, props, path))
  else if (Array.isArray(value)) causes.push(...validateList(value, props, path))
  else if (isJsonObject(value)) causes.push(...validateFields(value, props, path))
  return [...causes, ...validateLogic(value, props, path)]
}

function typeOf(value: JsonValue): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value
}

function validateType(value: JsonValue, props: JsonObject, path: string): FieldCause | undefined {
  const actual = typeOf(value)
  if (props['x-kubernetes-int-or-string'] === true) {
    if (actual === 'integer' || actual === 'string') return undefined
    return wrongType(path, 'integer,string', actual)
  }
  const expected = asString(props['type'])
  if (expected === undefined || expected === actual || (expected === 'number' && actual === 'integer')) return undefined
  return wrongType(path, expected, actual)
}

function wrongType(field: string, expected: string, actual: string): FieldCause {
  const message = `Invalid value: ${JSON.stringify(actual)}: ${field} in body must be of type ${expected}: ${JSON.stringify(actual)}`
  return { field, reason: 'FieldValueTypeInvalid', message }
}

function validateEnum(value: JsonValue, props: JsonObject, path: string): FieldCause[] {
  const allowed = props['enum']
  if (!Array.isArray(allowed) || allowed.some((each) => equalJson(each, value))) return []
  return [unsupportedValue(path, value, allowed.map(String))]
}

function validateNumber(value: number, props: JsonObject, path: string): FieldCause[] {
  const { minimum, maximum } = props
  const causes: FieldCause[] = []
  const isBelow =
    typeof minimum === 'number' && (props['exclusiveMinimum'] === true ? value <= minimum : value < minimum)
  const isAbove =
    typeof maximum === 'number' && (props['exclusiveMaximum'] === true ? value >= maximum : value > maximum)
  if (isBelow) {
    const relation = props['exclusiveMinimum'] === true ? 'greater than' : 'greater than or equal to'
    causes.push(invalidValue(path, value, `${path} in body should be ${relation} ${String(minimum)}`))
  }
  if (isAbove) {
    const relation = props['exclusiveMaximum'] === true ? 'less than' : 'less than or equal to'
    causes.push(invalidValue(path, value, `${path} in body should be ${relation} ${String(maximum)}`))
  }
  return causes
}

function validateText(value: string, props: JsonObject, path: string): FieldCause[] {
  const { minLength, maxLength, pattern } = props
  const length = Array.from(value).length
  // Only the first of these is reported.
  if (typeof maxLength === 'number' && length > maxLength) return [tooLongValue(path, maxLength)]
  if (typeof minLength === 'number' && length < minLength) {
    return [invalidValue(path, value, `${path} in body should be at least ${minLength} chars long`)]
  }
  if (typeof pattern === 'string' && !new RegExp(pattern, 'u').test(value)) {
    return [invalidValue(path, value, `${path} in body should match '${pattern}'`)]
  }
  return []
}

function validateList(value: JsonValue[], props: JsonObject, path: string): FieldCause[] {
  const { minItems, maxItems } = props
  const items = asJsonObject(props['items'])
  const causes = value.flatMap((item, index) => validateStructure(item, items, `${path}[${index}]`))
  if (typeof minItems === 'number' && value.length < minItems) {
    causes.push(invalidValue(path, value.length, `${path} in body should have at least ${minItems} items`))
  }
  if (typeof maxItems === 'number' && value.length > maxItems) {
    causes.push(tooManyItems(path, value.length, maxItems))
  }
  return causes
}

function validateFields(value: JsonObject, props: JsonObject, path: string): FieldCause[] {
  const at = (field: string): string => (path === '' ? field : `${path}.${field}`)
  const missing = asStrings(props['required'])
    .filter((field) => !Object.hasOwn(value, field))
    .map((field) => requiredValue(at(field)))
  const known = asJsonObject(props['properties'])
  const others = asJsonObject(props['additionalProperties'])
  const wrong = Object.entries(value).flatMap(([field, content]) =>
    validateStructure(content, asJsonObject(known[field] ?? others), at(field)),
  )
  return [...missing, ...wrong]
}

function validateLogic(value: JsonValue, props: JsonObject, path: string): FieldCause[] {
  const fits = (schema: JsonObject): boolean => validateStructure(value, schema, path).length === 0
  const causes = asJsonObjects(props['allOf']).flatMap((schema) => validateStructure(value, schema, path))
  const anyOf = asJsonObjects(props['anyOf'])
  const oneOf = asJsonObjects(props['oneOf'])
  const fail = (why: string): FieldCause => invalidValue(path, value, `${path} in body ${why}`)
  if (anyOf.length > 0 && !anyOf.some(fits)) causes.push(fail('must validate at least one schema (anyOf)'))
  if (oneOf.length > 0 && oneOf.filter(fits).length !== 1)
    causes.push(fail('must validate one and only one schema (oneOf)'))
  if (isJsonObject(props['not']) && fits(props['not'])) causes.push(fail('must not validate the schema (not)'))
  return causes
}
