/**
 * Field ownership: `metadata.managedFields`, updated on every write, and the rules of server-side apply that use it.
 */
import { compareFields } from './field-comparison.ts'
import {
  difference,
  EMPTY_FIELD_SET,
  formatFieldSet,
  intersection,
  isEmpty,
  parseFieldSet,
  union,
  without,
  type FieldPath,
  type FieldSet,
} from './field-set.ts'
import { asJsonObject, equalJson, type JsonObject } from '../objects/json-value.ts'
import type { KubeObject, ManagedFieldsEntry } from '../objects/kube-object.ts'
import type { ObjectSchema } from '../resources/object-schema.ts'

/** The manager, operation and time of a write. */
export interface FieldWriter {
  readonly manager: string
  readonly operation: 'Apply' | 'Update'
  readonly apiVersion: string
  readonly subresource: string
  readonly time: string
}

/** An entry with its fields parsed. */
export interface ManagedSet {
  readonly entry: ManagedFieldsEntry
  readonly fields: FieldSet
}

/** Fields that belong to the server or identify the object. They have no manager. */
const UNMANAGED: readonly FieldPath[] = [
  ['f:apiVersion'],
  ['f:kind'],
  ...[
    'name',
    'namespace',
    'creationTimestamp',
    'deletionTimestamp',
    'deletionGracePeriodSeconds',
    'selfLink',
    'uid',
    'generation',
    'managedFields',
    'resourceVersion',
  ].map((field) => ['f:metadata', `f:${field}`]),
]

/** The set without unmanaged fields and without the fields that this kind of write ignores. */
export function managedPart(fields: FieldSet, ignored: readonly FieldPath[]): FieldSet {
  const stripped = [...UNMANAGED, ...ignored].reduce<FieldSet>(without, fields)
  const metadata = stripped.children.get('f:metadata')
  if (metadata === undefined || !metadata.member) return stripped
  return { ...stripped, children: new Map(stripped.children).set('f:metadata', { ...metadata, member: false }) }
}

/** The fields that a write of the object or of a subresource ignores. */
export function ignoredFields(hasStatus: boolean, subresource: string): readonly FieldPath[] {
  if (subresource === 'status') return [['f:spec'], ['f:metadata']]
  return hasStatus ? [['f:status']] : []
}

/** Reads the managers of an object. */
export function readManagers(object: KubeObject | undefined): ManagedSet[] {
  return (object?.metadata.managedFields ?? []).map((entry) => ({
    entry,
    fields: parseFieldSet(asJsonObject(entry.fieldsV1)),
  }))
}

/** Whether an entry belongs to the writer. */
export function isOf(entry: ManagedFieldsEntry, writer: FieldWriter): boolean {
  return (
    entry.manager === writer.manager &&
    entry.operation === writer.operation &&
    entry.apiVersion === writer.apiVersion &&
    (entry.subresource ?? '') === writer.subresource
  )
}

/** Records an update, create or patch: the writer becomes the only owner of the fields that it changed. */
export function trackUpdate(
  states: { readonly before: KubeObject | undefined; readonly after: KubeObject; readonly schema: ObjectSchema },
  writer: FieldWriter,
  ignored: readonly FieldPath[],
): ManagedFieldsEntry[] {
  const { before, after, schema } = states
  if (isReset(after)) return []
  // After a client has reset the managers, none are recorded until the next server-side apply.
  if (before !== undefined && readManagers(before).length === 0) return []
  const comparison = compareFields(before ?? { metadata: {} }, after, schema)
  const removed = managedPart(comparison.removed, ignored)
  const changed = managedPart(union(comparison.added, comparison.modified), ignored)
  // A client that sends the list may change it.
  const managers = readManagers((after.metadata.managedFields ?? []).length > 0 ? after : before)
  const own = managers.find((each) => isOf(each.entry, writer))?.fields ?? EMPTY_FIELD_SET
  const others = managers
    .filter((each) => !isOf(each.entry, writer))
    .map(({ entry, fields }) => ({ entry, fields: difference(difference(fields, changed), removed) }))
  return writeManagers(others, { writer, fields: union(difference(own, removed), changed) }, before)
}

/** A client that sends an empty list resets the field managers. */
function isReset(object: KubeObject): boolean {
  const entries = object.metadata.managedFields
  return entries !== undefined && entries.every((entry) => Object.keys(entry).length === 0)
}

/** The fields of other managers that a change conflicts with. */
export function conflictsWith(managers: readonly ManagedSet[], writer: FieldWriter, changed: FieldSet): ManagedSet[] {
  return managers
    .filter((each) => !isOf(each.entry, writer))
    .map(({ entry, fields }) => ({ entry, fields: intersection(fields, changed) }))
    .filter(({ fields }) => !isEmpty(fields))
}

/** The new list of entries. Changed entries get the time of the write; empty entries are dropped. */
export function writeManagers(
  others: readonly ManagedSet[],
  own: { readonly writer: FieldWriter; readonly fields: FieldSet },
  before: KubeObject | undefined,
): ManagedFieldsEntry[] {
  const kept = others
    .filter(({ fields }) => !isEmpty(fields))
    .map(({ entry, fields }) => ({ ...entry, fieldsV1: formatFieldSet(fields) }))
  return [...kept, ...ownEntry(own.writer, own.fields, before)].sort(byOperationAndTime)
}

function ownEntry(writer: FieldWriter, fields: FieldSet, before: KubeObject | undefined): ManagedFieldsEntry[] {
  if (isEmpty(fields)) return []
  const fieldsV1 = formatFieldSet(fields)
  const previous = before?.metadata.managedFields?.find((entry) => isOf(entry, writer))
  const isUnchanged = previous !== undefined && equalJson(previous.fieldsV1, fieldsV1)
  return [createEntry(writer, isUnchanged ? (previous.time ?? writer.time) : writer.time, fieldsV1)]
}

function createEntry(writer: FieldWriter, time: string, fieldsV1: JsonObject): ManagedFieldsEntry {
  const { manager, operation, apiVersion, subresource } = writer
  return {
    manager,
    operation,
    apiVersion,
    time,
    fieldsType: 'FieldsV1',
    fieldsV1,
    ...(subresource === '' ? {} : { subresource }),
  }
}

function byOperationAndTime(left: ManagedFieldsEntry, right: ManagedFieldsEntry): number {
  const keyOf = ({ operation, time = '', manager, apiVersion, subresource = '' }: ManagedFieldsEntry): string =>
    [operation, time, manager, apiVersion, subresource].join(' ')
  return keyOf(left) < keyOf(right) ? -1 : 1
}
