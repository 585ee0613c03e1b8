/** Bodies in the protobuf encoding of Kubernetes, which generated clients send for built-in kinds. */
import { TenureError } from '@tenure/core'
import { textOf } from '@tenure/core/internal'
import { messageNameOf, messageTypes, type MessageField, type MessageType } from '../resources/message-types.ts'
import type { JsonObject, JsonValue } from './json-value.ts'
import { ProtobufReader, type WireValue } from './protobuf-reader.ts'

/** A body is not an object in the protobuf encoding of Kubernetes. */
export class ProtobufError extends TenureError {
  override readonly code = 'PROTOBUF'
}

const MAGIC = Buffer.from('k8s\0')

/** Reads a body as the JSON that says the same. @throws ProtobufError when it cannot be read, or its kind is not built in */
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
    throw new ProtobufError(`the message cannot be read: ${textOf(error)}`, { cause: error })
  }
}

function decodeEnvelope(envelope: Buffer): JsonObject {
  const { 1: type = Buffer.alloc(0), 2: raw = Buffer.alloc(0) } = bytesByNumber(envelope)
  const { 1: version, 2: kindName } = bytesByNumber(type)
  const [apiVersion, kind] = [version?.toString() ?? '', kindName?.toString() ?? '']
  const [group = '', name = ''] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion]
  // Options of a request carry the version of the client that sends them.
  const messageName = kind === 'DeleteOptions' ? 'meta.v1.DeleteOptions' : messageNameOf(group, name, kind)
  const message = messageTypes().get(messageName)
  if (message === undefined) throw new ProtobufError(`no kind "${kind}" is registered for version "${apiVersion}"`)
  return { apiVersion, kind, ...decodeMessage(raw, message) }
}

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

function decodeValue(value: WireValue, { type }: MessageField): JsonValue | undefined {
  switch (type) {
    case 'string':
      return bytesOf(value).toString()
    case 'bytes':
      return bytesOf(value).toString('base64')
    case 'boolean':
      return value !== 0n
    case 'int32':
    case 'int64':
      return Number(BigInt.asIntN(64, value as bigint))
    case 'time':
    case 'microTime':
      return decodeTime(bytesOf(value), type)
    case 'quantity':
      return bytesByNumber(bytesOf(value))[1]?.toString() ?? '0'
    case 'strings':
      return [...new ProtobufReader(bytesOf(value))].map(([, item]) => bytesOf(item).toString())
    case 'intOrString':
      return decodeIntOrString(bytesOf(value))
    case 'any':
    case 'fieldsV1':
      return JSON.parse(bytesByNumber(bytesOf(value))[1]?.toString() || 'null') as JsonValue
    default: {
      const message = messageTypes().get(type)
      if (message === undefined) throw new ProtobufError(`a field has the unknown type ${type}`)
      return decodeMessage(bytesOf(value), message)
    }
  }
}

function bytesOf(value: WireValue): Buffer {
  if (Buffer.isBuffer(value)) return value
  throw new ProtobufError('proto: wrong wireType for a field')
}

/** An empty message is a time that is not set. */
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
