import { ApiStatusError, badRequest } from '../objects/api-status.ts'
import { compareFields, fieldsOf } from './field-comparison.ts'
import {
  describePath,
  difference,
  EMPTY_FIELD_SET,
  isEmpty,
  pathsOf,
  reaches,
  union,
  type FieldPath,
  type FieldSet,
} from './field-set.ts'
import { isJsonObject, type JsonValue } from '../objects/json-value.ts'
import type { KubeObject, ManagedFieldsEntry } from '../objects/kube-object.ts'
import {
  conflictsWith,
  isOf,
  managedPart,
  readManagers,
  trackUpdate,
  writeManagers,
  type FieldWriter,
  type ManagedSet,
} from './managed-fields.ts'
import { assemble, partsOf, withoutPart, type ObjectPart } from './object-parts.ts'
import { schemaOfField, type ObjectSchema, type Schema } from '../resources/object-schema.ts'

/** One server-side apply. */
export interface Application {
  readonly before: KubeObject
  /** The desired fields. */
  readonly config: KubeObject
  readonly schema: ObjectSchema
  readonly writer: FieldWriter
  readonly ignored: readonly FieldPath[]
  /** Take fields from other managers instead of failing. */
  readonly force: boolean
}

/**
 * Applies a configuration. Sets its fields and makes the applier their owner. Removes the fields that the applier set before and
 * no longer names, unless another manager owns them too.
 *
 * @throws ApiStatusError 409 if another manager owns a field with a different value and `force` is not set
 */
export function applyConfiguration(application: Application): KubeObject {
  const { before, config, schema, writer, ignored, force } = application
  if (config.metadata.managedFields !== undefined) throw badRequest('metadata.managedFields must be nil')
  const managers = presentManagers(application)
  const applied = managedPart(fieldsOf(config, schema), ignored)
  const last = managers.find((each) => isOf(each.entry, writer))?.fields ?? EMPTY_FIELD_SET
  const others = managers.filter((each) => !isOf(each.entry, writer))
  const owned = others.reduce<FieldSet>((all, { fields }) => union(all, fields), applied)
  const after = prune(merge(before, config, schema) as KubeObject, { schema, last, owned })
  const comparison = compareFields(before, after, schema)
  const changed = managedPart(union(comparison.added, comparison.modified), ignored)
  const conflicts = withoutLastApplied(conflictsWith(managers, writer, changed), application)
  if (conflicts.length > 0 && !force) throw applyConflict(conflicts)
  const left = others.map(({ entry, fields }) => ({
    entry,
    fields: difference(difference(fields, changed), comparison.removed),
  }))
  const managedFields = writeManagers(left, { writer, fields: applied }, before)
  const { managedFields: _managedFields, ...metadata } = after.metadata
  return { ...after, metadata: managedFields.length === 0 ? metadata : { ...metadata, managedFields } }
}

/**
 * The conflicts that remain after kubectl takes over its earlier client-side apply, which an annotation records. Other field
 * managers take over nothing.
 */
function withoutLastApplied(
  conflicts: readonly ManagedSet[],
  { before, schema, writer, ignored }: Application,
): ManagedSet[] {
  const last = writer.manager === 'kubectl' ? before.metadata.annotations?.[LAST_APPLIED] : undefined
  if (last === undefined) return [...conflicts]
  const applied = managedPart(fieldsOf(JSON.parse(last) as KubeObject, schema), ignored)
  return conflicts
    .map(({ entry, fields }) => ({ entry, fields: difference(fields, applied) }))
    .filter(({ fields }) => !isEmpty(fields))
}

/** Updates the annotation of an earlier client-side apply by kubectl. */
export function withLastApplied(after: KubeObject, config: KubeObject, manager: string): KubeObject {
  const { annotations = {}, ...metadata } = after.metadata
  if (manager !== 'kubectl' || annotations[LAST_APPLIED] === undefined) return after
  const updated = { ...annotations, [LAST_APPLIED]: `${JSON.stringify(config, sortedKeys)}\n` }
  return { ...after, metadata: { ...metadata, annotations: updated } }
}

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

function sortedKeys(_key: string, value: unknown): unknown {
  return isJsonObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value
}

/** Reads the managers. An object without managers belongs to `before-first-apply`. */
function presentManagers({ before, schema, writer, ignored }: Application): ManagedSet[] {
  const managers = readManagers(before)
  if (managers.length > 0 || before.metadata.uid === undefined) return managers
  const nobody = { ...writer, manager: 'before-first-apply', operation: 'Update' } as const
  const metadata = {
    ...before.metadata,
    managedFields: trackUpdate({ before: undefined, after: before, schema }, nobody, ignored),
  }
  return readManagers({ ...before, metadata })
}

/** Merges `right` into `left`, part by part. Parts of `left` keep their order, and new parts follow. */
function merge(left: JsonValue, right: JsonValue, schema: Schema): JsonValue {
  const leftParts = partsOf(left, schema)
  const rightParts = partsOf(right, schema)
  if (leftParts === undefined || rightParts === undefined || Array.isArray(left) !== Array.isArray(right)) return right
  const merged = new Map<string, ObjectPart>(leftParts.map((part) => [part.element, part]))
  for (const part of rightParts) {
    const before = merged.get(part.element)
    const value = before === undefined ? part.value : merge(before.value, part.value, part.schema)
    merged.set(part.element, { ...part, value })
  }
  return assemble([...merged.values()], right)
}

/** Removes the fields that the applier set before and that have no owner now. */
function prune(merged: KubeObject, sets: { schema: ObjectSchema; last: FieldSet; owned: FieldSet }): KubeObject {
  const candidates = [...pathsOf(sets.last), ...namedParents(sets.last, sets.schema)]
  return candidates
    .filter((path) => !reaches(sets.owned, path))
    .reduce<JsonValue>((object, path) => withoutPart(object, sets.schema, path), merged) as KubeObject
}

/** The paths of structs that contain members. A struct is removed with its last field. */
function namedParents(set: FieldSet, schema: Schema, prefix: FieldPath = []): FieldPath[] {
  return [...set.children].flatMap(([element, child]) => {
    if (!element.startsWith('f:') || schema.kind !== 'object' || isEmpty(child)) return []
    const path = [...prefix, element]
    const below = namedParents(child, schemaOfField(schema, element.slice(2)), path)
    // The metadata of an object is never removed.
    return element === 'f:metadata' ? below : [path, ...below]
  })
}

function applyConflict(conflicts: readonly ManagedSet[]): ApiStatusError {
  const causes = conflicts.flatMap(({ entry, fields }) =>
    pathsOf(fields).map((path) => ({
      reason: 'FieldManagerConflict',
      message: `conflict with ${describeManager(entry)}`,
      field: describePath(path),
    })),
  )
  const noun = causes.length === 1 ? 'conflict' : 'conflicts'
  const told = conflicts.map(({ entry, fields }) => describeConflict(entry, pathsOf(fields).map(describePath)))
  const message = `Apply failed with ${causes.length} ${noun}: ${told.join('\n')}`
  return new ApiStatusError(409, 'Conflict', message, { details: { causes } })
}

function describeConflict(entry: ManagedFieldsEntry, paths: readonly string[]): string {
  if (paths.length === 1) return `conflict with ${describeManager(entry)}: ${paths.join('')}`
  return `conflicts with ${describeManager(entry)}:\n${paths.map((path) => `- ${path}`).join('\n')}`
}

function describeManager({ manager, subresource, operation, apiVersion }: ManagedFieldsEntry): string {
  const name = JSON.stringify(manager)
  const where = (subresource ?? '') === '' ? name : `${name} with subresource ${JSON.stringify(subresource)}`
  return operation === 'Update' ? `${where} using ${apiVersion}` : where
}
