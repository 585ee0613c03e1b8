/** The OpenAPI v2 document in the protobuf encoding of gnostic. kubectl requests it for a kind that it finds nowhere else. */
import {
  asJsonObject,
  asJsonObjects,
  asString,
  asStrings,
  type JsonObject,
  type JsonValue,
} from '../objects/json-value.ts'

/** Encodes an OpenAPI v2 document. */
export function encodeOpenApiV2(document: JsonObject): Buffer {
  const { title, version } = asJsonObject(document['info'])
  const paths = entries(document['paths']).map(([path, item]) => message(2, named(path, pathItem(asJsonObject(item)))))
  const definitions = entries(document['definitions']).map(([name, each]) =>
    message(1, named(name, schema(asJsonObject(each)))),
  )
  return Buffer.concat([
    text(1, document['swagger']),
    message(2, Buffer.concat([text(1, title), text(2, version)])),
    message(8, Buffer.concat(paths)),
    message(9, Buffer.concat(definitions)),
  ])
}

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'] as const

function pathItem(item: JsonObject): Buffer {
  const operations = METHODS.map((method, index) =>
    item[method] === undefined ? EMPTY : message(index + 2, operation(asJsonObject(item[method]))),
  )
  return Buffer.concat(operations)
}

function operation(given: JsonObject): Buffer {
  const parameters = asJsonObjects(given['parameters']).map((each) => message(8, message(1, parameter(each))))
  const responses = entries(given['responses']).map(([code, each]) => {
    const { description, schema: body } = asJsonObject(each)
    const response = Buffer.concat([text(1, description), message(2, message(1, schema(asJsonObject(body))))])
    return message(1, named(code, message(1, response)))
  })
  return Buffer.concat([...parameters, message(9, Buffer.concat(responses)), extensions(13, given)])
}

function parameter(given: JsonObject): Buffer {
  if (given['in'] !== 'body') {
    return message(2, message(3, Buffer.concat([text(2, given['in']), text(4, given['name']), text(6, given['type'])])))
  }
  const body = [
    text(2, given['name']),
    text(3, given['in']),
    flag(4, true),
    message(5, schema(asJsonObject(given['schema']))),
  ]
  return message(1, Buffer.concat(body))
}

function schema(given: JsonObject): Buffer {
  const { items, properties, additionalProperties } = given
  const inner = entries(properties).map(([name, each]) => message(1, named(name, schema(asJsonObject(each)))))
  return Buffer.concat([
    text(1, given['$ref']),
    text(2, given['format']),
    ...asStrings(given['required']).map((each) => text(19, each)),
    ...asStrings(given['enum']).map((each) => message(20, text(2, JSON.stringify(each)))),
    additionalProperties === undefined ? EMPTY : message(21, message(1, schema(asJsonObject(additionalProperties)))),
    given['type'] === undefined ? EMPTY : message(22, text(1, given['type'])),
    items === undefined ? EMPTY : message(23, message(1, schema(asJsonObject(items)))),
    inner.length === 0 ? EMPTY : message(25, Buffer.concat(inner)),
    extensions(31, given),
  ])
}

/** Extensions are YAML, and JSON is YAML. */
function extensions(number: number, given: JsonObject): Buffer {
  const found = entries(given).filter(([name]) => name.startsWith('x-'))
  return Buffer.concat(found.map(([name, value]) => message(number, named(name, text(2, JSON.stringify(value))))))
}

function named(name: string, value: Buffer): Buffer {
  return Buffer.concat([text(1, name), message(2, value)])
}

function entries(value: JsonValue | undefined): [string, JsonValue][] {
  return Object.entries(asJsonObject(value))
}

const EMPTY = Buffer.alloc(0)

function text(number: number, value: unknown): Buffer {
  const content = asString(value)
  return content === undefined ? EMPTY : message(number, Buffer.from(content))
}

function flag(number: number, value: boolean): Buffer {
  return Buffer.concat([varint(number * 8), varint(Number(value))])
}

function message(number: number, content: Buffer): Buffer {
  return Buffer.concat([varint(number * 8 + 2), varint(content.length), content])
}

function varint(value: number): Buffer {
  const bytes: number[] = []
  let rest = value
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128)
  return Buffer.from([...bytes, rest])
}
