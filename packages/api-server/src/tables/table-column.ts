import type { JsonValue } from '../objects/json-value.ts'
import { asString, valueAt } from '../objects/json-value.ts'
import type { KubeObject } from '../objects/kube-object.ts'
import { ageOf } from './human-duration.ts'

/** A column of the tables that `kubectl get` shows. */
export interface TableColumn {
  readonly name: string
  readonly type: string
  readonly format: string
  /** Shown by `-o wide` only when above 0. */
  readonly priority: number
  /** The cell for an object; `now` is in milliseconds since the Unix epoch. */
  readonly cell: (object: KubeObject, now: number) => JsonValue
}

/** A column of text, or of whole numbers. */
export function column(
  name: string,
  cell: TableColumn['cell'],
  type: 'string' | 'integer' | 'date' = 'string',
): TableColumn {
  return { name, type, format: name === 'Name' ? 'name' : '', priority: 0, cell }
}

/** The same column, for `-o wide`. */
export function wide(shown: TableColumn): TableColumn {
  return { ...shown, priority: 1 }
}

/** The text at a path of an object, such as `spec.type`. */
export function textAt(path: string, absent = ''): TableColumn['cell'] {
  return (object) => asString(valueAt(object, path)) ?? absent
}

/** The number at a path of an object. */
export function numberAt(path: string): TableColumn['cell'] {
  return (object) => Number(valueAt(object, path) ?? 0)
}

/** The name of an object. */
export const nameColumn: TableColumn = column('Name', ({ metadata }) => metadata.name ?? '')

/** The age of an object. */
export const ageColumn: TableColumn = column('Age', ({ metadata }, now) => ageOf(metadata.creationTimestamp, now))

/** The columns of kinds without their own columns. */
export const defaultColumns: readonly TableColumn[] = [
  nameColumn,
  column('Created At', ({ metadata }) => metadata.creationTimestamp ?? null, 'date'),
]
