import { ANNOTATION_PREFIX, type LeaseRecord, type PresentLease } from '@tenure/core'
import { integerAt, isJsonObject, objectAt, stringAt, type JsonObject } from '../transport/json-object.ts'

const DECIMAL = /^(?:0|[1-9]\d{0,30})$/

/** The path of all leases of a namespace. */
export function leasesPath(namespace: string): string {
  return `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`
}

/**
 * Reads a Lease as the API server or another client left it. Fields of the wrong type count as missing.
 *
 * Returns `undefined` when the object has no decimal resource version: it cannot be ordered or written then.
 */
export function parseLease(object: unknown): PresentLease | undefined {
  if (!isJsonObject(object)) return undefined
  const version = parseVersion(object)
  if (version === undefined) return undefined
  const metadata = objectAt(object, 'metadata')
  return {
    kind: 'present',
    version,
    record: parseRecord(objectAt(object, 'spec'), objectAt(metadata, 'annotations')),
    deleting: stringAt(metadata, 'deletionTimestamp') !== undefined,
    native: object,
  }
}

/** The resource version of an object or a list, where it is a decimal number as `coordination.k8s.io` promises. */
export function parseVersion(object: unknown): bigint | undefined {
  if (!isJsonObject(object)) return undefined
  const version = stringAt(objectAt(object, 'metadata'), 'resourceVersion')
  return version !== undefined && DECIMAL.test(version) ? BigInt(version) : undefined
}

/** The `metadata.name` of an object. */
export function nameOf(object: unknown): string | undefined {
  return isJsonObject(object) ? stringAt(objectAt(object, 'metadata'), 'name') : undefined
}

/** What a lock adds to every lease it writes. */
export interface LeaseMetadata {
  readonly name: string
  readonly namespace: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

/** The body that creates a lease. */
export function newLease(metadata: LeaseMetadata, record: LeaseRecord): JsonObject {
  return leaseBody({}, metadata, record)
}

/** The body that replaces the record in a stored lease and keeps everything in it that Tenure does not know. */
export function updatedLease(base: PresentLease, metadata: LeaseMetadata, record: LeaseRecord): JsonObject | undefined {
  if (!isJsonObject(base.native)) return undefined
  const body = leaseBody(base.native, metadata, record)
  return { ...body, metadata: { ...objectAt(body, 'metadata'), resourceVersion: String(base.version) } }
}

function leaseBody(stored: JsonObject, metadata: LeaseMetadata, record: LeaseRecord): JsonObject {
  const storedMetadata = objectAt(stored, 'metadata')
  const labels = { ...objectAt(storedMetadata, 'labels'), ...metadata.labels }
  const foreign = Object.entries(objectAt(storedMetadata, 'annotations')).filter(([key]) => !isOurs(key))
  return {
    ...stored,
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {
      ...storedMetadata,
      name: metadata.name,
      namespace: metadata.namespace,
      labels,
      annotations: { ...Object.fromEntries(foreign), ...metadata.annotations, ...ownAnnotations(record.annotations) },
    },
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

function parseRecord(spec: JsonObject, annotations: JsonObject): LeaseRecord {
  return {
    holderIdentity: stringAt(spec, 'holderIdentity') ?? '',
    leaseDurationSeconds: integerAt(spec, 'leaseDurationSeconds'),
    acquireTime: stringAt(spec, 'acquireTime'),
    renewTime: stringAt(spec, 'renewTime'),
    leaseTransitions: integerAt(spec, 'leaseTransitions'),
    annotations: ownAnnotations(annotations),
  }
}

function ownAnnotations(annotations: JsonObject): Record<string, string> {
  return Object.fromEntries(
    Object.entries(annotations).filter(
      (entry): entry is [string, string] => isOurs(entry[0]) && typeof entry[1] === 'string',
    ),
  )
}

function isOurs(key: string): boolean {
  return key.startsWith(ANNOTATION_PREFIX)
}
