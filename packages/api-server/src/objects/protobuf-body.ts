/** Decodes request bodies in the Kubernetes protobuf encoding, which generated clients use for built-in kinds. */
import { TenureError } from '@tenure/core'
import { textOf } from '@tenure/core/internal'
import { messageNameOf, messageTypes, type MessageField, type MessageType } from '../resources/message-types.ts'
import type { JsonObject, JsonValue } from './json-value.ts'
import { ProtobufReader, type WireValue } from './protobuf-reader.ts'

/** A request body is not a valid object in the Kubernetes protobuf encoding. */
export class ProtobufError extends TenureError {
  override readonly code = 'PROTOBUF'
}

const MAGIC = Buffer.from('k8s\0')
const EMPTY = Buffer.alloc(0)

/** Decodes a body to the equivalent JSON. @throws ProtobufError when the body is malformed or its kind is not built in. */
export function decodeProtobufBody(body: Buffer): JsonObject {
  if (!body.subarray(0, MAGIC.length).equals(MAGIC)) {
    throw new ProtobufError(
      'the provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]',
    )
  }
  try {
    return decodeEnvelope(body.subarray(MAGIC.length))
  } catch (error) {
    if (error instanceof ProtobufError) throw error
    throw new ProtobufError(`cannot decode the protobuf message: ${textOf(error)}`, { cause: error })
  }
}

function decodeEnvelope(envelope: Buffer): JsonObject {
  const { 1: typeMeta = EMPTY, 2: content = EMPTY } = bytesByNumber(envelope)
  const { apiVersion, kind } = decodeTypeMeta(typeMeta)
  const message = messageTypes().get(messageNameFor(apiVersion, kind))
  if (message === undefined) throw new ProtobufError(`no kind "${kind}" is registered for version "${apiVersion}"`)
  return { apiVersion, kind, ...decodeMessage(content, message) }
}

function decodeTypeMeta(bytes: Buffer): { apiVersion: string; kind: string } {
  const { 1: apiVersion = EMPTY, 2: kind = EMPTY } = bytesByNumber(bytes)
  return { apiVersion: apiVersion.toString(), kind: kind.toString() }
}

function messageNameFor(apiVersion: string, kind: string): string {
  // A client sends DeleteOptions with the apiVersion of the resource that it deletes.
  if (kind === 'DeleteOptions') return 'meta.v1.DeleteOptions'
  const [group = '', version = ''] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion]
  return messageNameOf(group, version, kind)
}

/** The length-delimited fields of a message, by field number. Of a repeated field, the last. */
function bytesByNumber(message: Buffer): Partial<Record<number, Buffer>> {
  const found: Partial<Record<number, Buffer>> = {}
  for (const [number, value] of new ProtobufReader(message)) if (Buffer.isBuffer(value)) found[number] = value
  return found
}

function decodeMessage(bytes: Buffer, message: MessageType): JsonObject {
  const object: JsonObject = {}
  for (const [number, value] of new ProtobufReader(bytes)) {
    const field = message.fields.find((each) => each.number === number)
    if (field !== undefined) addField(object, field, value)
  }
  return object
}

function addField(object: JsonObject, field: MessageField, value: WireValue): void {
  const { name, shape } = field
  if (name === '') Object.assign(object, decodeValue(value, field) as JsonObject)
  else if (shape === 'list')
    object[name] = [...((object[name] as JsonValue[] | undefined) ?? []), decodeItem(value, field)]
  else if (shape === 'map') object[name] = { ...(object[name] as JsonObject | undefined), ...decodeEntry(value, field) }
  else {
    const decoded = decodeValue(value, field)
    if (decoded !== undefined && (field.keepsZero || !isZero(decoded))) object[name] = decoded
  }
}

function isZero(value: JsonValue): boolean {
  return value === '' || value === 0 || value === false
}

function decodeItem(value: WireValue, field: MessageField): JsonValue {
  return decodeValue(value, field) ?? null
}

function decodeEntry(entry: WireValue, field: MessageField): JsonObject {
  let key = ''
  let content: JsonValue = field.type === 'string' || field.type === 'bytes' ? '' : {}
  for (const [number, value] of new ProtobufReader(bytesOf(entry))) {
    if (number === 1) key = bytesOf(value).toString()
    else content = decodeItem(value, field)
  }
  return { [key]: content }
}

type ScalarDecoder = (value: WireValue) => JsonValue | undefined

/** By the type of the field. Every other type is the name of a message. */
const SCALAR_DECODERS: ReadonlyMap<string, ScalarDecoder> = new Map<string, ScalarDecoder>([
  ['string', (value) => bytesOf(value).toString()],
  ['bytes', (value) => bytesOf(value).toString('base64')],
  ['boolean', (value) => value !== 0n],
  ['int32', decodeInteger],
  ['int64', decodeInteger],
  ['time', (value) => decodeTime(bytesOf(value), 'time')],
  ['microTime', (value) => decodeTime(bytesOf(value), 'microTime')],
  ['quantity', (value) => bytesByNumber(bytesOf(value))[1]?.toString() ?? '0'],
  ['strings', (value) => [...new ProtobufReader(bytesOf(value))].map(([, item]) => bytesOf(item).toString())],
  ['intOrString', (value) => decodeIntOrString(bytesOf(value))],
  ['any', decodeEmbeddedJson],
  ['fieldsV1', decodeEmbeddedJson],
])

function decodeValue(value: WireValue, { type }: MessageField): JsonValue | undefined {
  const decodeScalar = SCALAR_DECODERS.get(type)
  if (decodeScalar !== undefined) return decodeScalar(value)
  const message = messageTypes().get(type)
  if (message === undefined) throw new ProtobufError(`a field has the unknown type ${type}`)
  return decodeMessage(bytesOf(value), message)
}

function decodeInteger(value: WireValue): number {
  return Number(BigInt.asIntN(64, value as bigint))
}

function decodeEmbeddedJson(value: WireValue): JsonValue {
  return JSON.parse(bytesByNumber(bytesOf(value))[1]?.toString() || 'null') as JsonValue
}

function bytesOf(value: WireValue): Buffer {
  if (Buffer.isBuffer(value)) return value
  throw new ProtobufError('proto: wrong wireType for a field')
}

/** An empty message stands for an unset time. */
function decodeTime(bytes: Buffer, type: 'time' | 'microTime'): JsonValue | undefined {
  if (bytes.length === 0) return undefined
  const { 1: seconds = 0n, 2: nanoseconds = 0n } = Object.fromEntries(new ProtobufReader(bytes)) as Record<
    number,
    bigint
  >
  const text = new Date(Number(BigInt.asIntN(64, seconds)) * 1000).toISOString().slice(0, 19)
  if (type === 'time') return `${text}Z`
  return `${text}.${String(nanoseconds / 1000n).padStart(6, '0')}Z`
}

function decodeIntOrString(bytes: Buffer): JsonValue {
  const { 1: type = 0n, 2: integer = 0n, 3: text = '' } = Object.fromEntries(new ProtobufReader(bytes))
  return type === 1n ? text.toString() : Number(BigInt.asIntN(32, integer as bigint))
}
