import { OptionsError, type PresentLease, TenureError } from '@tenure/core'
import { nearestName } from '@tenure/core/internal'
import { ApiRequestError } from '@tenure/kubernetes'
import { objectAt, parseLease, stringAt, type JsonObject } from '@tenure/kubernetes/internal'
import type { Cluster, ResourcePath } from './cluster.ts'

/** The resource that leases are. */
export const LEASES = { group: 'coordination.k8s.io', version: 'v1', resource: 'leases' } as const

/** How many names a message suggests. */
const SUGGESTIONS = 3

/** A lease as the API server has it. */
export interface StoredLease {
  readonly namespace: string
  readonly name: string
  readonly lease: PresentLease
  readonly object: JsonObject
}

/** There is no lease of this name. */
class UnknownLeaseError extends TenureError {
  override readonly code = 'ERR_TENURE_UNKNOWN_LEASE'
  override readonly name = 'UnknownLeaseError'
}

/** Reads a Lease. Returns undefined for an object without a decimal resource version. */
export function storedLease(object: JsonObject): StoredLease | undefined {
  const lease = parseLease(object)
  const metadata = objectAt(object, 'metadata')
  const [namespace, name] = [stringAt(metadata, 'namespace'), stringAt(metadata, 'name')]
  return lease === undefined || name === undefined || namespace === undefined
    ? undefined
    : { namespace, name, lease, object }
}

/** Lists the leases of a namespace, or of all. */
export async function listLeases(cluster: Cluster, namespace: string): Promise<readonly StoredLease[]> {
  const objects = await cluster.list({ ...LEASES, namespace })
  return objects.flatMap((object) => storedLease(object) ?? [])
}

/**
 * Reads one lease. A client that may patch the lease but not read it reads it with an empty patch.
 * @throws UnknownLeaseError with the nearest names if there is no such lease.
 */
export async function readLease(cluster: Cluster, name: string): Promise<StoredLease> {
  // Without a name, the path would be that of all leases.
  if (name === '') throw new OptionsError('Expected the name of a lease, got an empty text')
  const path = { ...LEASES, namespace: cluster.namespace, name }
  try {
    return usable(await getOrPatch(cluster, path), path)
  } catch (cause) {
    if (!isFailure(cause, 'not-found')) throw cause
    throw new UnknownLeaseError(
      `The lease ${cluster.namespace}/${name} does not exist${await suggestion(cluster, name)}`,
      { cause },
    )
  }
}

async function getOrPatch(cluster: Cluster, path: ResourcePath): Promise<JsonObject> {
  try {
    return await cluster.get(path)
  } catch (error) {
    if (!isFailure(error, 'forbidden')) throw error
    return cluster.patch(path, {}).catch(() => {
      throw error
    })
  }
}

function usable(object: JsonObject, { namespace = '', name = '' }: ResourcePath): StoredLease {
  const stored = storedLease(object)
  if (stored !== undefined) return stored
  throw new UnknownLeaseError(
    `The lease ${namespace}/${name} has no decimal resource version, so it cannot be ordered.`,
  )
}

/** The nearest names in the namespace, then the namespaces in which there is a lease of this name. */
async function suggestion(cluster: Cluster, name: string): Promise<string> {
  const here = await listLeases(cluster, cluster.namespace).catch(() => [])
  const names = nearest(
    name,
    here.map((lease) => lease.name),
  )
  if (names.length > 0) return `; did you mean ${names.map((each) => `\`${each}\``).join(' or ')}?`
  const elsewhere = await listLeases(cluster, '').catch(() => [])
  const namespaces = elsewhere.filter((lease) => lease.name === name).map(({ namespace }) => namespace)
  if (namespaces.length === 0) return '; the namespace has no leases.'
  return `, but there is one in the namespace ${namespaces.slice(0, SUGGESTIONS).join(' and in ')}.`
}

function nearest(name: string, known: readonly string[]): readonly string[] {
  const found: string[] = []
  while (found.length < SUGGESTIONS) {
    const next = nearestName(
      name,
      known.filter((each) => !found.includes(each)),
    )
    if (next === undefined) break
    found.push(next)
  }
  return found
}

/** The name of a lease among those of all namespaces. */
export function leaseKey(namespace: string, name: string): string {
  return `${namespace}/${name}`
}

/** Whether a request failed in this way. */
export function isFailure(error: unknown, failure: ApiRequestError['failure']): boolean {
  return error instanceof ApiRequestError && error.failure === failure
}
