import { isJsonObject, type JsonObject, type JsonValue } from './json-value.ts'
import type {
  ListSchema,
  MapSchema,
  ObjectSchema,
  ScalarSchema,
  ScalarType,
  Schema,
} from '../resources/object-schema.ts'

/** A value does not have the type of its field. */
export class DecodeError extends Error {}

/** An object as the server reads it. */
export interface Decoded {
  readonly object: JsonObject
  /** The paths of the dropped fields, which the kind does not have. */
  readonly unknownFields: readonly string[]
}

interface Place {
  /** The path with indexes and keys: `spec.ports[0].name`. */
  readonly path: string
  /** The path without them, as type errors print it: `spec.ports.name`. */
  readonly field: string
  /** The Go struct that declares the field. */
  readonly struct: string
  readonly unknownFields: string[]
}

/**
 * Decodes `input` as the kind that `schema` describes. Drops unknown fields, nulls, and zero values that mean the same as absence.
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
    const fieldSchema = Object.hasOwn(schema.fields, field) ? schema.fields[field] : undefined
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

/** What Go keeps in a map or list for a value that is null or zero. */
function zeroOf(schema: Schema): JsonValue {
  if (schema.kind !== 'scalar') return null
  if (schema.type === 'boolean') return false
  return isTextual(schema.type) ? '' : 0
}

function decodeList(input: JsonValue, schema: ListSchema, place: Place): JsonValue | undefined {
  if (!Array.isArray(input)) throw wrongType(input, place, goTypeOf(schema))
  const items = input.map((item, index) => {
    const inner = { ...place, path: `${place.path}[${index}]` }
    return decode(item, schema.items, inner) ?? zeroOf(schema.items)
  })
  return items.length === 0 ? undefined : items
}

const SCALAR_DECODERS: Readonly<Record<ScalarType, (input: JsonValue, place: Place) => JsonValue>> = {
  string: decodeString,
  bytes: decodeBytes,
  boolean: decodeBoolean,
  int32: (input, place) => decodeInteger(input, place, 'int32'),
  int64: (input, place) => decodeInteger(input, place, 'int64'),
  number: decodeNumber,
  intOrString: decodeIntOrString,
  time: (input, place) => decodeTime(input, place, 'time'),
  microTime: (input, place) => decodeTime(input, place, 'microTime'),
}

function decodeScalar(input: JsonValue, schema: ScalarSchema, place: Place): JsonValue | undefined {
  const decoded = SCALAR_DECODERS[schema.type](input, place)
  const isZero = decoded === '' || decoded === 0 || decoded === false
  return isZero && !schema.keepsZero ? undefined : decoded
}

function decodeString(input: JsonValue, place: Place): string {
  if (typeof input !== 'string') throw wrongType(input, place, 'string')
  return input
}

function decodeBytes(input: JsonValue, place: Place): string {
  const text = decodeString(input, place)
  assertBase64(text)
  return text
}

function decodeBoolean(input: JsonValue, place: Place): boolean {
  if (typeof input !== 'boolean') throw wrongType(input, place, 'bool')
  return input
}

function decodeInteger(input: JsonValue, place: Place, type: 'int32' | 'int64'): number {
  if (typeof input !== 'number' || !Number.isInteger(input)) throw wrongType(input, place, type)
  if (type === 'int32' && input !== (input | 0)) throw wrongType(input, place, type)
  return input
}

function decodeNumber(input: JsonValue, place: Place): number {
  if (typeof input !== 'number') throw wrongType(input, place, 'float64')
  return input
}

function decodeIntOrString(input: JsonValue, place: Place): number | string {
  if (typeof input !== 'string' && typeof input !== 'number') throw wrongType(input, place, 'intstr.IntOrString')
  return input
}

function assertBase64(text: string): void {
  const outside = text.search(/[^A-Za-z0-9+/=\r\n]/)
  if (outside !== -1) throw new DecodeError(`illegal base64 data at input byte ${outside}`)
  if (text.replaceAll(/[\r\n]/g, '').length % 4 !== 0)
    throw new DecodeError(`illegal base64 data at input byte ${text.length}`)
}

/** The layouts that Go parses each type of time with. */
const LAYOUTS = {
  time: '2006-01-02T15:04:05Z07:00',
  microTime: '2006-01-02T15:04:05.000000Z07:00',
} as const

type TimeType = keyof typeof LAYOUTS

const RFC3339 =
  /^(?<date>\d{4}-(?<month>\d{2})-\d{2}T\d{2}:\d{2}:\d{2})(?<fraction>(?:[.,]\d*)?)(?<zone>Z|[+-]\d{2}:\d{2})$/

/** Converts a time to UTC as the server stores it: `Time` in whole seconds, `MicroTime` in microseconds. */
function decodeTime(input: JsonValue, place: Place, type: TimeType): string {
  const text = decodeString(input, place)
  const groups = RFC3339.exec(text)?.groups
  if (groups === undefined) throw unparsedTime({ text, type, rest: text, expected: '2006' })
  const { date = '', fraction = '', zone = '' } = groups
  if (type === 'microTime') assertMicroseconds(text, fraction, zone)
  const epochMs = Date.parse(`${date}${zone}`)
  if (Number.isNaN(epochMs)) throw timeOutOfRange(text, Number(groups['month']))
  const seconds = new Date(epochMs).toISOString().slice(0, 19)
  return type === 'time' ? `${seconds}Z` : `${seconds}${fraction}Z`
}

/** A `MicroTime` has exactly six digits after the point. */
function assertMicroseconds(text: string, fraction: string, zone: string): void {
  const type = 'microTime'
  if (!/^\.\d{6}/.test(fraction)) throw unparsedTime({ text, type, rest: `${fraction}${zone}`, expected: '.000000' })
  const surplus = fraction.slice(7)
  if (surplus !== '') throw unparsedTime({ text, type, rest: `${surplus}${zone}`, expected: 'Z07:00' })
}

interface UnparsedTime {
  readonly text: string
  readonly type: TimeType
  /** The part of `text` that Go fails to parse. */
  readonly rest: string
  /** The part of the layout that `rest` should match. */
  readonly expected: string
}

function unparsedTime({ text, type, rest, expected }: UnparsedTime): DecodeError {
  return new DecodeError(
    `parsing time ${quoted(text)} as ${quoted(LAYOUTS[type])}: cannot parse ${quoted(rest)} as ${quoted(expected)}`,
  )
}

function timeOutOfRange(text: string, month: number): DecodeError {
  const part = month >= 1 && month <= 12 ? 'day' : 'month'
  return new DecodeError(`parsing time ${quoted(text)}: ${part} out of range`)
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
