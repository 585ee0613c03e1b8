import { ANNOTATION_PREFIX, type LeaseRecord, type PresentLease } from '@tenure/core'
import { integerAt, isJsonObject, objectAt, stringAt, type JsonObject } from '../../json-object.ts'
import { parseVersion } from '../../client/object-metadata.ts'
import type { Resource } from '../../client/resource.ts'

/** The resource that leases are. */
export const LEASES: Resource = { group: 'coordination.k8s.io', version: 'v1', resource: 'leases' }

/**
 * Reads a Lease as the API server or another client left it. Fields of the wrong type count as missing.
 *
 * Returns `undefined` when the object has no decimal resource version: it cannot be ordered or written then.
 */
export function parseLease(object: unknown): PresentLease | undefined {
  const version = parseVersion(object)
  return version === undefined || !isJsonObject(object) ? undefined : presentLease(parseLeaseRecord, version, object)
}

/** The lease in an object, at a version. */
export function presentLease(
  parse: (object: JsonObject) => LeaseRecord,
  version: bigint,
  object: JsonObject,
): PresentLease {
  return {
    kind: 'present',
    version,
    record: parse(object),
    deleting: stringAt(objectAt(object, 'metadata'), 'deletionTimestamp') !== undefined,
    native: withoutManagedFields(object),
  }
}

/** What a lock adds to every object it writes. */
export interface LockMetadata {
  readonly name: string
  readonly namespace: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

/** Writes a record into a stored object, or into an empty one, and keeps everything in it that Tenure does not know. */
export type BodyBuilder = (stored: JsonObject, metadata: LockMetadata, record: LeaseRecord) => JsonObject

/** The body that replaces the record in a stored object, or undefined when the base was not read from one. */
export function updatedBody(
  build: BodyBuilder,
  base: PresentLease,
  metadata: LockMetadata,
  record: LeaseRecord,
): JsonObject | undefined {
  if (!isJsonObject(base.native)) return undefined
  const body = build(base.native, metadata, record)
  return { ...body, metadata: { ...objectAt(body, 'metadata'), resourceVersion: String(base.version) } }
}

/** Writes a record into a stored Lease, or into an empty one, and keeps everything in it that Tenure does not know. */
export function leaseBody(stored: JsonObject, metadata: LockMetadata, record: LeaseRecord): JsonObject {
  return {
    ...stored,
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: bodyMetadata(stored, metadata, ownAnnotations(record.annotations)),
    // A field that is undefined is left out of the JSON.
    spec: {
      ...objectAt(stored, 'spec'),
      holderIdentity: record.holderIdentity,
      leaseDurationSeconds: record.leaseDurationSeconds,
      acquireTime: record.acquireTime,
      renewTime: record.renewTime,
      leaseTransitions: record.leaseTransitions,
    },
  }
}

/** The metadata of an object that is written: its own, and what the lock adds; of our annotations, only the given ones. */
export function bodyMetadata(
  stored: JsonObject,
  { name, namespace, labels, annotations }: LockMetadata,
  own: Readonly<Record<string, string>>,
): JsonObject {
  const storedMetadata = objectAt(stored, 'metadata')
  const foreign = Object.entries(objectAt(storedMetadata, 'annotations')).filter(([key]) => !isOurs(key))
  return {
    ...storedMetadata,
    name,
    namespace,
    labels: { ...objectAt(storedMetadata, 'labels'), ...labels },
    annotations: { ...Object.fromEntries(foreign), ...annotations, ...own },
  }
}

/** The record in a Lease. */
export function parseLeaseRecord(object: JsonObject): LeaseRecord {
  const spec = objectAt(object, 'spec')
  return {
    holderIdentity: stringAt(spec, 'holderIdentity') ?? '',
    leaseDurationSeconds: integerAt(spec, 'leaseDurationSeconds'),
    acquireTime: stringAt(spec, 'acquireTime'),
    renewTime: stringAt(spec, 'renewTime'),
    leaseTransitions: integerAt(spec, 'leaseTransitions'),
    annotations: ownAnnotations(objectAt(objectAt(object, 'metadata'), 'annotations')),
  }
}

/** The annotations of Tenure that are strings. */
export function ownAnnotations(annotations: JsonObject): Record<string, string> {
  return Object.fromEntries(
    Object.entries(annotations).filter(
      (entry): entry is [string, string] => isOurs(entry[0]) && typeof entry[1] === 'string',
    ),
  )
}

/** The server keeps `managedFields` when a write omits them. They are most of the object. */
function withoutManagedFields(object: JsonObject): JsonObject {
  const { managedFields: _, ...metadata } = objectAt(object, 'metadata')
  return { ...object, metadata }
}

function isOurs(key: string): boolean {
  return key.startsWith(ANNOTATION_PREFIX)
}
