import { cloneJson, equalJson, isJsonObject, type JsonObject, type JsonValue } from '../objects/json-value.ts'

/** A JSON Patch (RFC 6902) is malformed or does not fit the document. */
export class JsonPatchError extends Error {
  /** `malformed`: not a JSON Patch. `inapplicable`: an operation does not fit the document. */
  readonly failure: 'malformed' | 'inapplicable'

  constructor(failure: 'malformed' | 'inapplicable', message: string) {
    super(message)
    this.failure = failure
  }
}

/** Applies all operations of the patch to a copy of the document. @throws JsonPatchError if one of them fails */
export function applyJsonPatch(document: JsonValue, patch: JsonValue): JsonValue {
  if (!Array.isArray(patch)) throw new JsonPatchError('malformed', 'a JSON Patch is a list of operations')
  return patch.reduce<JsonValue>(applyOperation, cloneJson(document))
}

function applyOperation(document: JsonValue, operation: JsonValue): JsonValue {
  if (!isJsonObject(operation)) throw new JsonPatchError('malformed', 'an operation is an object')
  const path = pointerOf(operation, 'path')
  switch (operation['op']) {
    case 'add':
      return add(document, path, valueOf(operation))
    case 'remove':
      return remove(document, path)
    case 'replace':
      return replace(document, path, valueOf(operation))
    case 'move': {
      const from = pointerOf(operation, 'from')
      const value = read(document, from, 'move')
      return add(remove(document, from), path, value)
    }
    case 'copy':
      return add(document, path, cloneJson(read(document, pointerOf(operation, 'from'), 'copy')))
    case 'test':
      return test(document, path, operation)
    default:
      throw new JsonPatchError('inapplicable', `Unexpected kind: ${String(operation['op'])}`)
  }
}

function test(document: JsonValue, path: readonly string[], operation: JsonObject): JsonValue {
  const found = find(document, path)
  const expected = operation['value'] ?? null
  if (equalJson(found ?? null, expected)) return document
  throw new JsonPatchError('inapplicable', `testing value ${String(operation['path'])} failed`)
}

function pointerOf(operation: JsonObject, field: string): string[] {
  const pointer = operation[field]
  if (typeof pointer !== 'string' || (pointer !== '' && !pointer.startsWith('/'))) {
    throw new JsonPatchError('malformed', `${field} is not a JSON pointer`)
  }
  return pointer === ''
    ? []
    : pointer
        .slice(1)
        .split('/')
        .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
}

function valueOf(operation: JsonObject): JsonValue {
  const value = operation['value']
  if (value === undefined) throw new JsonPatchError('malformed', 'an operation lacks its value')
  return cloneJson(value)
}

function find(document: JsonValue, path: readonly string[]): JsonValue | undefined {
  let value: JsonValue | undefined = document
  for (const part of path) {
    if (Array.isArray(value)) value = /^\d+$/.test(part) ? value[Number(part)] : undefined
    else if (isJsonObject(value) && Object.hasOwn(value, part)) value = value[part]
    else return undefined
  }
  return value
}

function read(document: JsonValue, path: readonly string[], operation: string): JsonValue {
  const value = find(document, path)
  if (value === undefined) throw missing(path, operation)
  return value
}

function missing(path: readonly string[], operation: string): JsonPatchError {
  const pointer = path.map((part) => `/${part}`).join('')
  const why = `${operation} operation does not apply: doc is missing path: ${pointer}: missing value`
  return new JsonPatchError('inapplicable', why)
}

function add(document: JsonValue, path: readonly string[], value: JsonValue): JsonValue {
  const last = path.at(-1)
  if (last === undefined) return value
  const parent = find(document, path.slice(0, -1))
  if (Array.isArray(parent)) parent.splice(indexIn(parent, last), 0, value)
  else if (isJsonObject(parent)) define(parent, last, value)
  else throw missing(path, 'add')
  return document
}

/** Adds a missing field, as the real server does. RFC 6902 requires an error. */
function replace(document: JsonValue, path: readonly string[], value: JsonValue): JsonValue {
  const parent = find(document, path.slice(0, -1))
  if (!Array.isArray(parent)) return add(document, path, value)
  read(document, path, 'replace')
  parent[Number(path.at(-1))] = value
  return document
}

/** Treats `__proto__` like any other field. */
function define(object: JsonObject, field: string, value: JsonValue): void {
  Object.defineProperty(object, field, { value, enumerable: true, configurable: true, writable: true })
}

function indexIn(list: readonly JsonValue[], part: string): number {
  if (part === '-') return list.length
  const index = /^\d+$/.test(part) ? Number(part) : Number.NaN
  if (index <= list.length) return index
  throw new JsonPatchError('inapplicable', `Unable to access invalid index: ${part}: invalid index referenced`)
}

function remove(document: JsonValue, path: readonly string[]): JsonValue {
  read(document, path, 'remove')
  const last = path.at(-1) ?? ''
  const parent = find(document, path.slice(0, -1))
  if (Array.isArray(parent)) parent.splice(Number(last), 1)
  else if (isJsonObject(parent)) delete parent[last]
  return path.length === 0 ? null : document
}
