import { isMap } from './ports/node-modules.ts'
import { textOf } from './text-of.ts'

/**
 * Adds a `toJSON()` to `value`, so that `JSON.stringify()` accepts it although it holds bigints. The method is not enumerable, and a copy
 * of the object does not have it.
 */
export function withJsonForm<T extends object>(value: T): T {
  return Object.defineProperty(value, 'toJSON', TO_JSON)
}

const TO_JSON: PropertyDescriptor = {
  value(this: object): unknown {
    return jsonForm(this)
  },
}

/**
 * A copy of `value` that `JSON.stringify()` accepts. Bigints become decimal strings, because a JSON number cannot hold every epoch. Maps
 * become objects.
 * Errors become name, message, code, cause and errors; errors of Tenure also keep their other fields.
 */
export function jsonForm(value: object): unknown {
  return formOf(value, new Set())
}

/** `outer` holds the objects that `value` is part of. */
function formOf(value: unknown, outer: ReadonlySet<unknown>): unknown {
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'object' || value === null) return value
  if (outer.has(value)) return '[circular]'
  const inner = new Set(outer).add(value)
  if (Array.isArray(value)) return value.map((item) => formOf(item, inner))
  if (isMap(value)) return formOfFields(fieldsOfMap(value), inner)
  if (value instanceof Error) return formOfFields(fieldsOf(value), inner)
  return isPlain(value) ? formOfFields(value, inner) : value
}

function formOfFields(fields: object, outer: ReadonlySet<unknown>): object {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, formOf(field, outer)]))
}

/** Keys may be anything. */
function fieldsOfMap(map: ReadonlyMap<unknown, unknown>): object {
  return Object.fromEntries(Array.from(map, ([key, value]) => [textOf(key), value]))
}

function fieldsOf(error: Error): object {
  const { name, message, cause } = error
  const [code, errors]: unknown[] = [Reflect.get(error, 'code'), Reflect.get(error, 'errors')]
  return { name, message, code, ...(isOwn(error) && Object.fromEntries(Object.entries(error))), cause, errors }
}

/** Whether this is an error of Tenure. Fields of other errors may hold anything, such as sockets. */
function isOwn(error: Error): boolean {
  return 'toJSON' in error
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
