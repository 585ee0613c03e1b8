import { EMPTY_FIELD_SET, setOfPaths, type FieldPath, type FieldSet } from './field-set.ts'
import { equalJson, isJsonObject, type JsonValue } from '../objects/json-value.ts'
import { partsOf, type ObjectPart } from './object-parts.ts'
import type { Schema } from '../resources/object-schema.ts'

/** The differences between two states of an object. */
export interface Comparison {
  readonly added: FieldSet
  readonly modified: FieldSet
  readonly removed: FieldSet
}

interface Lists {
  readonly added: FieldPath[]
  readonly modified: FieldPath[]
  readonly removed: FieldPath[]
}

/** Compares two states of an object part by part. */
export function compareFields(before: JsonValue, after: JsonValue, schema: Schema): Comparison {
  const lists: Lists = { added: [], modified: [], removed: [] }
  compare({ before, after, schema, path: [] }, lists)
  return {
    added: setOfPaths(lists.added),
    modified: setOfPaths(lists.modified),
    removed: setOfPaths(lists.removed),
  }
}

interface Place {
  readonly before: JsonValue | undefined
  readonly after: JsonValue | undefined
  readonly schema: Schema
  readonly path: FieldPath
}

function compare({ before, after, schema, path }: Place, lists: Lists): void {
  if (before === undefined || after === undefined) {
    if (before !== undefined) collect(before, schema, path, lists.removed)
    if (after !== undefined) collect(after, schema, path, lists.added)
    return
  }
  const oldParts = partsOf(before, schema)
  const newParts = partsOf(after, schema)
  if (oldParts === undefined || newParts === undefined || oldParts.length + newParts.length === 0) {
    if (!equalJson(before, after)) lists.modified.push(path)
    return
  }
  compareParts({ oldParts, newParts, path }, lists)
}

function compareParts(
  { oldParts, newParts, path }: { oldParts: ObjectPart[]; newParts: ObjectPart[]; path: FieldPath },
  lists: Lists,
): void {
  const removed = new Map(oldParts.map((part) => [part.element, part]))
  for (const { element, value, schema } of newParts) {
    compare({ before: removed.get(element)?.value, after: value, schema, path: [...path, element] }, lists)
    removed.delete(element)
  }
  for (const { element, value, schema } of removed.values()) collect(value, schema, [...path, element], lists.removed)
}

/** Collects all paths of an added or removed value, including its maps and list items. */
function collect(value: JsonValue, schema: Schema, path: FieldPath, into: FieldPath[]): void {
  const parts = partsOf(value, schema)
  if (parts === undefined || parts.length === 0 || isItem(path.at(-1) ?? '') || !isAlwaysThere(schema)) into.push(path)
  for (const part of parts ?? []) collect(part.value, part.schema, [...path, part.element], into)
}

/** The structs of built-in kinds always exist, even if empty, so no write adds or removes them. */
function isAlwaysThere(schema: Schema): boolean {
  return schema.kind === 'object' && schema.isStruct
}

/** The paths that a manager owns after it applies `value`. */
export function fieldsOf(value: JsonValue, schema: Schema): FieldSet {
  const paths: FieldPath[] = []
  collectOwned(value, schema, [], paths)
  return paths.length === 0 ? EMPTY_FIELD_SET : setOfPaths(paths)
}

function collectOwned(value: JsonValue, schema: Schema, path: FieldPath, into: FieldPath[]): void {
  const parts = partsOf(value, schema)
  if (parts === undefined || parts.length === 0) {
    into.push(path)
    return
  }
  for (const part of parts) {
    const inner = [...path, part.element]
    if (isItem(part.element) || (schema.kind !== 'object' && isJsonObject(part.value))) into.push(inner)
    collectOwned(part.value, part.schema, inner, into)
  }
}

function isItem(element: string): boolean {
  return element !== '' && !element.startsWith('f:')
}
