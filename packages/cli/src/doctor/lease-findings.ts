import { isKeptByHolder } from '@tenure/core/internal'
import { objectAt, stringAt, isJsonObject, type JsonObject } from '@tenure/kubernetes/internal'
import type { Cluster } from '../cluster/cluster.ts'
import type { StoredLease } from '../cluster/leases.ts'
import type { LeaseStatus } from '../status/lease-status.ts'
import type { Finding } from './finding.ts'

/** What a lease itself shows. */
export function leaseFindings({ namespace, name, lease }: StoredLease, status: LeaseStatus): readonly Finding[] {
  const about = `lease ${namespace}/${name}`
  const malformed = status.problems.map((problem): Finding => ({
    severity: 'error',
    about,
    problem,
    remedy: 'Correct or delete the lease, with the client that writes it stopped.',
  }))
  const isOfTenure = isKeptByHolder(lease.record) && lease.record.holderIdentity !== ''
  return [...malformed, ...(isOfTenure ? tenureFindings(about, status) : []), ...candidateFindings(about, status)]
}

function tenureFindings(about: string, { holder, standbys, fences }: LeaseStatus): readonly Finding[] {
  const findings: Finding[] = []
  const fixed = [holder, ...standbys].filter((identity) => !/_[^_]{8,}$/.test(identity))
  if (fixed.length > 0)
    findings.push({
      severity: 'warning',
      about,
      problem: `the identity ${fixed.join(' and ')} has no part that changes with each start of a process, so two replicas may share it`,
      remedy: 'Leave `identity` and `TENURE_IDENTITY` out, or append a random text after an underscore.',
    })
  if (standbys.length === 0)
    findings.push({
      severity: 'warning',
      about,
      problem: 'no replica stands by, so nobody leads from when the holder ends until a new process has started',
      remedy: 'Run two or more replicas.',
    })
  if (fences?.length === 0)
    findings.push({
      severity: 'note',
      about,
      problem: 'no admission policy compares writes with it, so the API server accepts late writes of a former leader',
      remedy: 'Apply what `tenure policies` prints.',
    })
  return findings
}

function candidateFindings(about: string, { candidates = [] }: LeaseStatus): readonly Finding[] {
  if (candidates.length === 0) return []
  return [
    {
      severity: 'note',
      about,
      problem: `it has ${candidates.length} LeaseCandidates, an API that Kubernetes removes in 1.39`,
      remedy: "Set `coordination: 'peers'`, or leave it at 'auto': the replicas then choose by themselves.",
    },
  ]
}

/** Whether requests for leases from this namespace have a priority level of their own. Nothing if the user may not read that. */
export async function flowFindings(cluster: Cluster, namespace: string): Promise<readonly Finding[]> {
  const path = { group: 'flowcontrol.apiserver.k8s.io', version: 'v1', resource: 'flowschemas' }
  const schemas = await cluster.list(path).catch(() => undefined)
  if (schemas === undefined || schemas.some((schema) => covers(objectAt(schema, 'spec'), namespace))) return []
  return [
    {
      severity: 'note',
      about: `namespace ${namespace}`,
      problem: 'no FlowSchema gives the lease requests of its service accounts the priority level leader-election',
      remedy: 'Apply the FlowSchema that `tenure manifests` prints, so that other requests cannot delay renewals.',
    },
  ]
}

function covers(spec: JsonObject, namespace: string): boolean {
  const level = stringAt(objectAt(spec, 'priorityLevelConfiguration'), 'name')
  const subjects = listOf(spec['rules']).flatMap((rule) => listOf(rule['subjects']))
  return level === 'leader-election' && subjects.some((subject) => isSubjectIn(subject, namespace))
}

function isSubjectIn(subject: JsonObject, namespace: string): boolean {
  const account = objectAt(subject, 'serviceAccount')
  if (stringAt(account, 'namespace') === namespace) return true
  const group = stringAt(objectAt(subject, 'group'), 'name') ?? ''
  return ['*', 'system:serviceaccounts', 'system:authenticated', `system:serviceaccounts:${namespace}`].includes(group)
}

function listOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : []
}
