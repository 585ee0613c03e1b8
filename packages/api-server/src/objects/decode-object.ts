import { isJsonObject, type JsonObject, type JsonValue } from './json-value.ts'
import type {
  ListSchema,
  MapSchema,
  ObjectSchema,
  ScalarSchema,
  ScalarType,
  Schema,
} from '../resources/object-schema.ts'

/** A value is not of the type that its field has. */
export class DecodeError extends Error {}

/** An object as the server understood it. */
export interface Decoded {
  readonly object: JsonObject
  /** The paths of fields that were dropped because the kind does not have them. */
  readonly unknownFields: readonly string[]
}

interface Place {
  /** The path with indexes, as in `spec.ports[0].name`. */
  readonly path: string
  /** The same without indexes, as type errors have it. */
  readonly field: string
  /** The Go struct that the field is in. */
  readonly struct: string
  readonly unknownFields: string[]
}

/**
 * Reads `input` as an object of the kind that `schema` describes: unknown fields, nulls and meaningless zero values are dropped.
 *
 * @throws DecodeError when a value has the wrong type.
 */
export function decodeObject(input: JsonObject, schema: ObjectSchema): Decoded {
  const unknownFields: string[] = []
  const object = decodeFields(input, schema, { path: '', field: '', struct: schema.name, unknownFields })
  return { object, unknownFields }
}

function decode(input: JsonValue, schema: Schema, place: Place): JsonValue | undefined {
  if (schema.kind === 'any') return input
  if (input === null) return undefined
  switch (schema.kind) {
    case 'object':
      if (!isJsonObject(input)) throw wrongType(input, place, goTypeOf(schema))
      return decodeFields(input, schema, place)
    case 'map':
      return decodeMap(input, schema, place)
    case 'list':
      return decodeList(input, schema, place)
    case 'scalar':
      return decodeScalar(input, schema, place)
    default:
      return schema satisfies never
  }
}

function decodeFields(input: JsonObject, schema: ObjectSchema, place: Place): JsonObject {
  const decoded: JsonObject = {}
  for (const [field, content] of Object.entries(input)) {
    const path = place.path === '' ? field : `${place.path}.${field}`
    const fieldSchema = schema.fields[field]
    if (fieldSchema === undefined) {
      if (schema.open) decoded[field] = content
      else place.unknownFields.push(path)
      continue
    }
    const inner = { ...place, path, field: place.field === '' ? field : `${place.field}.${field}`, struct: schema.name }
    const result = decode(content, fieldSchema, inner)
    if (result !== undefined) decoded[field] = result
  }
  return decoded
}

function decodeMap(input: JsonValue, schema: MapSchema, place: Place): JsonValue | undefined {
  if (!isJsonObject(input)) throw wrongType(input, place, goTypeOf(schema))
  const entries: [string, JsonValue][] = []
  for (const [key, content] of Object.entries(input)) {
    const result = decode(content, schema.values, { ...place, path: `${place.path}.${key}` })
    entries.push([key, result ?? zeroOf(schema.values)])
  }
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

/** In a map Go keeps keys whose value is null or zero, with the zero value. */
function zeroOf(schema: Schema): JsonValue {
  if (schema.kind === 'scalar') return schema.type === 'boolean' ? false : isTextual(schema.type) ? '' : 0
  return null
}

function decodeList(input: JsonValue, schema: ListSchema, place: Place): JsonValue | undefined {
  if (!Array.isArray(input)) throw wrongType(input, place, goTypeOf(schema))
  const items = input.map((item, index) => {
    const inner = { ...place, path: `${place.path}[${index}]` }
    return decode(item, schema.items, inner) ?? zeroOf(schema.items)
  })
  return items.length === 0 ? undefined : items
}

function decodeScalar(input: JsonValue, schema: ScalarSchema, place: Place): JsonValue | undefined {
  switch (schema.type) {
    case 'string':
      if (typeof input !== 'string') throw wrongType(input, place, 'string')
      break
    case 'bytes':
      if (typeof input !== 'string') throw wrongType(input, place, 'string')
      assertBase64(input)
      break
    case 'boolean':
      if (typeof input !== 'boolean') throw wrongType(input, place, 'bool')
      break
    case 'int32':
    case 'int64':
      if (typeof input !== 'number' || !Number.isInteger(input)) throw wrongType(input, place, schema.type)
      if (schema.type === 'int32' && Math.abs(input) > 0x7f_ff_ff_ff) throw wrongType(input, place, schema.type)
      break
    case 'number':
      if (typeof input !== 'number') throw wrongType(input, place, 'float64')
      break
    case 'intOrString':
      if (typeof input !== 'string' && typeof input !== 'number') throw wrongType(input, place, 'intstr.IntOrString')
      break
    case 'time':
    case 'microTime':
      return decodeTime(input, schema.type, place)
    default:
      return schema.type satisfies never
  }
  const isZero = input === '' || input === 0 || input === false
  return isZero && !schema.keepsZero ? undefined : input
}

function assertBase64(text: string): void {
  const outside = text.search(/[^A-Za-z0-9+/=\r\n]/)
  if (outside !== -1) throw new DecodeError(`illegal base64 data at input byte ${outside}`)
  if (text.replaceAll(/[\r\n]/g, '').length % 4 !== 0)
    throw new DecodeError(`illegal base64 data at input byte ${text.length}`)
}

const LAYOUTS = {
  time: '2006-01-02T15:04:05Z07:00',
  microTime: '2006-01-02T15:04:05.000000Z07:00',
} as const

const RFC3339 =
  /^(?<date>\d{4}-(?<month>\d{2})-\d{2}T\d{2}:\d{2}:\d{2})(?<fraction>(?:[.,]\d*)?)(?<zone>Z|[+-]\d{2}:\d{2})$/

/** Times are stored in UTC, whole seconds for `Time` and microseconds for `MicroTime`. */
function decodeTime(input: JsonValue, type: 'time' | 'microTime', place: Place): string {
  if (typeof input !== 'string') throw wrongType(input, place, 'string')
  const groups = RFC3339.exec(input)?.groups
  const { date = '', month = '', fraction = '', zone = '' } = groups ?? {}
  const unparsed = (rest: string, expected: string): DecodeError =>
    new DecodeError(
      `parsing time ${quoted(input)} as ${quoted(LAYOUTS[type])}: cannot parse ${quoted(rest)} as ${quoted(expected)}`,
    )
  if (groups === undefined) throw unparsed(input, '2006')
  if (type === 'microTime' && !/^\.\d{6}/.test(fraction)) throw unparsed(`${fraction}${zone}`, '.000000')
  if (type === 'microTime' && fraction.length > 7) throw unparsed(`${fraction.slice(7)}${zone}`, 'Z07:00')
  const epochMs = Date.parse(`${date}${zone}`)
  if (Number.isNaN(epochMs)) {
    const part = Number(month) >= 1 && Number(month) <= 12 ? 'day' : 'month'
    throw new DecodeError(`parsing time ${quoted(input)}: ${part} out of range`)
  }
  const seconds = new Date(epochMs).toISOString().slice(0, 19)
  return type === 'time' ? `${seconds}Z` : `${seconds}${fraction}Z`
}

function quoted(text: string): string {
  return JSON.stringify(text)
}

function wrongType(input: JsonValue, place: Place, goType: string): DecodeError {
  const got = Array.isArray(input) ? 'array' : typeof input === 'boolean' ? 'bool' : typeof input
  const told = typeof input === 'number' && goType.startsWith('int') ? `number ${input}` : got
  return new DecodeError(
    `json: cannot unmarshal ${told} into Go struct field ${place.struct}.${place.field} of type ${goType}`,
  )
}

function isTextual(type: ScalarType): boolean {
  return type === 'string' || type === 'bytes' || type === 'time' || type === 'microTime'
}

function goTypeOf(schema: Schema): string {
  switch (schema.kind) {
    case 'object':
      return `v1.${schema.name}`
    case 'map':
      return `map[string]${goTypeOf(schema.values)}`
    case 'list':
      return `[]${goTypeOf(schema.items)}`
    case 'scalar':
      return schema.type === 'boolean' ? 'bool' : schema.type
    case 'any':
      return 'interface {}'
    default:
      return schema satisfies never
  }
}
