import { objectAt, stringAt, type JsonObject } from '@tenure/kubernetes/internal'
import { isFailure, leaseKey } from '../cluster/leases.ts'
import type { Cluster, ResourcePath } from '../cluster/cluster.ts'
import { recentChanges, type RecentChanges } from './recent-changes.ts'

/** What a cluster knows about leases besides the leases. A part is undefined if the user may not read it. */
export interface LeaseFacts {
  /** The candidates of coordinated election, by lease. */
  readonly candidates: ReadonlyMap<string, readonly string[]> | undefined
  /** The admission policies that guard objects with a lease, by lease. */
  readonly fences: ReadonlyMap<string, readonly string[]> | undefined
  /** The Events of the last hour, by lease. */
  readonly changes: ReadonlyMap<string, RecentChanges> | undefined
}

/** The versions in which a server may serve LeaseCandidates, the newest first. */
const CANDIDATE_VERSIONS = ['v1', 'v1beta1', 'v1alpha2'] as const

const POLICY_BINDINGS: ResourcePath = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  resource: 'validatingadmissionpolicybindings',
}

/** Reads the facts about the leases of a namespace, or of all. What the user may not read, or the server does not serve, is left out. */
export async function readFacts(cluster: Cluster, namespace: string, wallTime: number): Promise<LeaseFacts> {
  const [candidates, fences, changes] = await Promise.all([
    ifAllowed(readCandidates(cluster, namespace)),
    ifAllowed(readFences(cluster)),
    ifAllowed(readChanges(cluster, namespace, wallTime)),
  ])
  return { candidates, fences, changes }
}

async function ifAllowed<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading
  } catch (error) {
    if (isFailure(error, 'forbidden') || isFailure(error, 'not-found')) return undefined
    throw error
  }
}

async function readCandidates(cluster: Cluster, namespace: string): Promise<ReadonlyMap<string, readonly string[]>> {
  const objects = await firstServed(cluster, namespace)
  return grouped(
    objects.map((object) => {
      const { namespace: of = '', name = '' } = namesOf(object)
      return [leaseKey(of, stringAt(objectAt(object, 'spec'), 'leaseName') ?? ''), name]
    }),
  )
}

async function firstServed(cluster: Cluster, namespace: string): Promise<readonly JsonObject[]> {
  for (const version of CANDIDATE_VERSIONS) {
    try {
      return await cluster.list({ group: 'coordination.k8s.io', version, resource: 'leasecandidates', namespace })
    } catch (error) {
      if (!isFailure(error, 'not-found')) throw error
    }
  }
  return []
}

async function readFences(cluster: Cluster): Promise<ReadonlyMap<string, readonly string[]>> {
  const bindings = await cluster.list(POLICY_BINDINGS)
  const entries = bindings.flatMap((binding) => {
    const spec = objectAt(binding, 'spec')
    const policy = stringAt(spec, 'policyName') ?? ''
    const key = guardOf(policy, objectAt(spec, 'paramRef'))
    return key === undefined ? [] : [[key, policy] as const]
  })
  return grouped([...new Map(entries.map(([key, policy]) => [`${key} ${policy}`, [key, policy] as const])).values()])
}

/** The lease that a policy compares writes with: its parameter, or the lease in the name of a policy of Tenure. */
function guardOf(policy: string, paramRef: JsonObject): string | undefined {
  const [namespace, name] = [stringAt(paramRef, 'namespace'), stringAt(paramRef, 'name')]
  if (!policy.endsWith('.tenure.dev')) return undefined
  if (namespace !== undefined && name !== undefined) return leaseKey(namespace, name)
  const [, ...parts] = policy.slice(0, -'.tenure.dev'.length).split('.')
  const ofPolicy = parts.pop()
  return ofPolicy === undefined ? undefined : leaseKey(ofPolicy, parts.join('.'))
}

async function readChanges(
  cluster: Cluster,
  namespace: string,
  wallTime: number,
): Promise<ReadonlyMap<string, RecentChanges>> {
  const query = { fieldSelector: 'involvedObject.kind=Lease' }
  const events = await cluster.list({ group: '', version: 'v1', resource: 'events', namespace }, query)
  return recentChanges(events, wallTime)
}

function namesOf(object: JsonObject): { readonly namespace: string | undefined; readonly name: string | undefined } {
  const metadata = objectAt(object, 'metadata')
  return { namespace: stringAt(metadata, 'namespace'), name: stringAt(metadata, 'name') }
}

function grouped(entries: readonly (readonly [string, string])[]): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, string[]>()
  for (const [key, value] of entries) groups.set(key, [...(groups.get(key) ?? []), value])
  return groups
}
