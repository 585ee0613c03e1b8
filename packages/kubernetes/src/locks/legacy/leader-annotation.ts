import { LockRequestError, type LeaseRecord } from '@tenure/core'
import { bodyMetadata, ownAnnotations, type BodyBuilder } from '../lease/lease-object.ts'
import type { LockCodec } from '../lease/object-lock.ts'
import { isJsonObject, objectAt, stringAt, type JsonObject } from '../../json-object.ts'

/** Where client-go kept the record, up to v0.23: `LeaderElectionRecordAnnotationKey` of its package `resourcelock`. */
export const LEADER_ANNOTATION = 'control-plane.alpha.kubernetes.io/leader'

/**
 * The times of the record with fractions of a second, which {@link LEADER_ANNOTATION} cannot hold, and the holder. They count
 * only while that annotation has the same holder and times.
 */
const EXACT_TIMES_ANNOTATION = 'lock.tenure.dev/exact-times'

/** The resource of an annotation lock, and its name in logs and errors. */
export interface AnnotatedKind {
  readonly kind: string
  readonly resource: string
  readonly title: string
}

/**
 * Keeps the record in an annotation of objects of the core group, as client-go did: `holderIdentity`, `leaseDurationSeconds`,
 * `acquireTime`, `renewTime` and `leaderTransitions` as JSON, times as RFC 3339 with whole seconds (`metav1.Time`).
 *
 * An object without the annotation is a lease that nobody holds, as it is to client-go.
 */
export function annotationCodec({ kind, resource, title }: AnnotatedKind): LockCodec {
  return {
    resource: { group: '', version: 'v1', resource },
    title,
    parse: (object) => parseRecord(object, title),
    body: bodyBuilder(kind, title),
  }
}

function bodyBuilder(kind: string, title: string): BodyBuilder {
  return (stored, metadata, record) => {
    const { [EXACT_TIMES_ANNOTATION]: _, ...annotations } = objectAt(objectAt(stored, 'metadata'), 'annotations')
    const kept = { ...stored, metadata: { ...objectAt(stored, 'metadata'), annotations } }
    const leader = formatRecord(record, storedFields(stored, title))
    const ours = { ...ownAnnotations(record.annotations), [LEADER_ANNOTATION]: leader, ...exactTimes(record) }
    return { ...stored, apiVersion: 'v1', kind, metadata: bodyMetadata(kept, metadata, ours) }
  }
}

/** A field that is undefined is left out of the JSON. */
function formatRecord(record: LeaseRecord, stored: JsonObject): string {
  return JSON.stringify({
    ...stored,
    holderIdentity: record.holderIdentity,
    leaseDurationSeconds: record.leaseDurationSeconds,
    acquireTime: inWholeSeconds(record.acquireTime),
    renewTime: inWholeSeconds(record.renewTime),
    leaderTransitions: record.leaseTransitions,
  })
}

function exactTimes({ holderIdentity, acquireTime, renewTime }: LeaseRecord): Record<string, string> {
  if (acquireTime === inWholeSeconds(acquireTime) && renewTime === inWholeSeconds(renewTime)) return {}
  return { [EXACT_TIMES_ANNOTATION]: JSON.stringify({ holderIdentity, acquireTime, renewTime }) }
}

/** @throws LockRequestError with failure `rejected` for a record that client-go cannot read either: it grants nothing */
function parseRecord(object: JsonObject, title: string): LeaseRecord {
  const annotations = objectAt(objectAt(object, 'metadata'), 'annotations')
  const fields = storedFields(object, title)
  const text = (key: string) => field(fields, { key, title, expected: 'a text', is: isText })
  const integer = (key: string) => field(fields, { key, title, expected: 'an integer', is: isInteger })
  const record: LeaseRecord = {
    holderIdentity: text('holderIdentity') ?? '',
    leaseDurationSeconds: integer('leaseDurationSeconds'),
    acquireTime: text('acquireTime'),
    renewTime: text('renewTime'),
    leaseTransitions: integer('leaderTransitions'),
    annotations: ownAnnotations(annotations),
  }
  return { ...record, ...exactTimesOf(record, stringAt(annotations, EXACT_TIMES_ANNOTATION)) }
}

function exactTimesOf(record: LeaseRecord, exact: string | undefined): Partial<LeaseRecord> {
  const { holderIdentity, acquireTime, renewTime } = (exact === undefined ? undefined : parseObject(exact)) ?? {}
  const isOfRecord =
    holderIdentity === record.holderIdentity &&
    inWholeSeconds(acquireTime) === record.acquireTime &&
    inWholeSeconds(renewTime) === record.renewTime
  // Each equals a text without its fraction, or is missing like the other.
  const times = { acquireTime, renewTime } as Pick<LeaseRecord, 'acquireTime' | 'renewTime'>
  return isOfRecord ? times : {}
}

function storedFields(object: JsonObject, title: string): JsonObject {
  const stored = stringAt(objectAt(objectAt(object, 'metadata'), 'annotations'), LEADER_ANNOTATION)
  const fields = parseObject(stored ?? '{}')
  if (fields !== undefined) return fields
  throw new LockRequestError(
    'rejected',
    `Expected the annotation \`${LEADER_ANNOTATION}\` of the ${title} to hold a JSON object, got \`${stored?.slice(0, 80)}\``,
  )
}

interface FieldRule<T> {
  readonly key: string
  readonly title: string
  readonly expected: string
  readonly is: (value: unknown) => value is T
}

/** Go reads `null` as the zero value, and refuses any other value of a wrong type. */
function field<T>(fields: JsonObject, { key, title, expected, is }: FieldRule<T>): T | undefined {
  const value = fields[key]
  if (value === undefined || value === null) return undefined
  if (is(value)) return value
  throw new LockRequestError(
    'rejected',
    `Expected \`${key}\` in the annotation \`${LEADER_ANNOTATION}\` of the ${title} to be ${expected}, got \`${JSON.stringify(value)}\``,
  )
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** The time without its fraction of a second. Any other value stays unchanged. */
function inWholeSeconds<T>(time: T): T | string {
  return typeof time === 'string' ? time.replace(/(T\d\d:\d\d:\d\d)\.\d+/, '$1') : time
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function isInteger(value: unknown): value is number {
  return Number.isSafeInteger(value)
}
