/**
 * The schema of a kind. The server uses it to drop unknown fields, to refuse values of the wrong type with the messages of the Go
 * decoder, and to merge lists by key.
 */

/** The shape of one value. */
export type Schema = ObjectSchema | MapSchema | ListSchema | ScalarSchema | AnySchema

/** A struct: named fields. */
export interface ObjectSchema {
  readonly kind: 'object'
  /** The name of the Go struct, which type errors mention. */
  readonly name: string
  readonly fields: Readonly<Record<string, Schema>>
  /** Whether unknown fields are kept instead of dropped. */
  readonly open: boolean
  /** Owned and merged as a whole. */
  readonly atomic: boolean
  /** Whether this is a struct of a built-in kind, which exists even if it is empty. Objects in custom resources can be absent. */
  readonly isStruct: boolean
}

/** Any keys, one type of values. */
export interface MapSchema {
  readonly kind: 'map'
  readonly values: Schema
  readonly atomic: boolean
}

/** A list; `keys` identify the items of a `map` list. */
export interface ListSchema {
  readonly kind: 'list'
  readonly items: Schema
  readonly listType: 'atomic' | 'set' | 'map'
  readonly keys: readonly string[]
}

/** The types of single values. */
export type ScalarType =
  'string' | 'boolean' | 'int32' | 'int64' | 'number' | 'time' | 'microTime' | 'bytes' | 'intOrString'

/** A single value. */
export interface ScalarSchema {
  readonly kind: 'scalar'
  readonly type: ScalarType
  /** Whether zero differs from absence (a pointer in Go). */
  readonly keepsZero: boolean
}

/** Anything at all. */
export interface AnySchema {
  readonly kind: 'any'
}

/** A struct whose fields are all known. */
export function object(name: string, fields: Readonly<Record<string, Schema>>): ObjectSchema {
  return { kind: 'object', name, fields, open: false, atomic: false, isStruct: true }
}

/** A struct that keeps unknown fields. */
export function openObject(name: string, fields: Readonly<Record<string, Schema>>): ObjectSchema {
  return { kind: 'object', name, fields, open: true, atomic: false, isStruct: true }
}

/** A struct that is owned and merged as a whole. */
export function atomicObject(name: string, fields: Readonly<Record<string, Schema>>): ObjectSchema {
  return { kind: 'object', name, fields, open: false, atomic: true, isStruct: true }
}

/** Any keys with values of one type. */
export function map(values: Schema): MapSchema {
  return { kind: 'map', values, atomic: false }
}

/** Any keys with values of one type, owned and merged as a whole. */
export function atomicMap(values: Schema): MapSchema {
  return { kind: 'map', values, atomic: true }
}

/** A list that is owned and merged as a whole. */
export function list(items: Schema): ListSchema {
  return { kind: 'list', items, listType: 'atomic', keys: [] }
}

/** A list without duplicates, merged item by item. */
export function setOf(items: Schema): ListSchema {
  return { kind: 'list', items, listType: 'set', keys: [] }
}

/** A list whose items are identified by key fields, merged item by item. */
export function listBy(keys: readonly string[], items: Schema): ListSchema {
  return { kind: 'list', items, listType: 'map', keys }
}

/** A value that is dropped if it is zero. */
export function value(type: ScalarType): ScalarSchema {
  return { kind: 'scalar', type, keepsZero: type === 'intOrString' }
}

/** A value whose zero is kept. */
export function pointer(type: ScalarType): ScalarSchema {
  return { kind: 'scalar', type, keepsZero: true }
}

/** Anything at all. */
export const anything: AnySchema = { kind: 'any' }

/** The schema of a field of `schema`. Unknown fields accept any value. */
export function schemaOfField(schema: Schema, field: string): Schema {
  if (schema.kind === 'object') return schema.fields[field] ?? anything
  return schema.kind === 'map' ? schema.values : anything
}
