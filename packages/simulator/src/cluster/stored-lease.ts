import type { JsonObject, JsonValue, KubeObject } from '@tenure/api-server/internal'
import { ANNOTATION_PREFIX, type LeaseRecord, type PresentLease } from '@tenure/core'

/** The Lease object for a record. Keeps the other fields of `stored`, which it replaces, and its owner unless there is another. */
export function storedLease(
  name: string,
  record: LeaseRecord,
  stored: KubeObject | undefined,
  owner?: string,
): KubeObject {
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {
      ...stored?.metadata,
      name,
      namespace: NAMESPACE,
      annotations: { ...foreignAnnotations(stored), ...record.annotations },
      ...(owner !== undefined && { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: owner, uid: owner }] }),
    },
    spec: specOf(record),
  }
}

/** The process whose Pod owns the lease. */
export function ownerOf(object: KubeObject | undefined): string | undefined {
  const [owner] = (object?.metadata.ownerReferences ?? []) as readonly JsonObject[]
  return owner === undefined ? undefined : String(owner['name'])
}

function specOf(record: LeaseRecord): JsonObject {
  const { annotations: _, ...spec } = record
  return spec as JsonObject
}

/** The lease of every fleet. */
export const LEASE_NAME = 'simulated'

/** The namespace of the leases. */
export const NAMESPACE = 'default'

/** A stored Lease, as a replica reads it. */
export function presentLease(object: KubeObject): PresentLease {
  const spec = object['spec'] as Spec
  return {
    kind: 'present',
    version: BigInt(object.metadata.resourceVersion ?? 0),
    record: { ...spec, annotations: ownAnnotations(object) },
    deleting: false,
    native: object,
  }
}

type Spec = Omit<LeaseRecord, 'annotations'> & JsonObject

function ownAnnotations(object: KubeObject): Record<string, string> {
  return pick(object, (key) => key.startsWith(ANNOTATION_PREFIX))
}

function foreignAnnotations(object: KubeObject | undefined): Record<string, string> {
  return object === undefined ? {} : pick(object, (key) => !key.startsWith(ANNOTATION_PREFIX))
}

function pick(object: KubeObject, isWanted: (key: string) => boolean): Record<string, string> {
  const picked: Record<string, string> = {}
  const { annotations } = object.metadata
  for (const key in annotations)
    if (isWanted(key)) picked[key] = String((annotations as Record<string, JsonValue>)[key])
  return picked
}
