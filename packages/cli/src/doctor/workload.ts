import { integerAt, isJsonObject, objectAt, stringAt, type JsonObject } from '@tenure/kubernetes/internal'
import type { Cluster } from '../cluster/cluster.ts'
import { isFailure, type StoredLease } from '../cluster/leases.ts'
import { replicasOf } from '../explain/explain-lease.ts'
import { podOf } from '../explain/explain-replicas.ts'
import type { Finding } from './finding.ts'

/** The grace period that the default drain, abort and cleanup timeouts need, with 6 s for what follows. */
const GRACE_SECONDS = 34

/** Checks the Pods of the replicas that a lease names. Replicas that do not run as Pods, or may not be read, are left out. */
export async function checkWorkload(cluster: Cluster, stored: StoredLease): Promise<readonly Finding[]> {
  const { namespace } = stored
  const names = new Set(replicasOf(stored).map((identity) => podOf(identity, stored.lease)))
  const pods = await Promise.all([...names].map((name) => podNamed(cluster, namespace, name)))
  const found = pods.filter((pod) => pod !== undefined)
  if (found.length === 0) return []
  const budgets = await cluster
    .list({ group: 'policy', version: 'v1', resource: 'poddisruptionbudgets', namespace })
    .catch(() => undefined)
  return [
    ...found.flatMap((pod) => podFindings(pod)),
    ...(budgets === undefined ? [] : found.slice(0, 1).flatMap((pod) => budgetFindings(pod, budgets))),
    ...imageFindings(stored, found),
  ]
}

async function podNamed(cluster: Cluster, namespace: string, name: string): Promise<JsonObject | undefined> {
  try {
    return await cluster.get({ group: '', version: 'v1', resource: 'pods', namespace, name })
  } catch (error) {
    if (isFailure(error, 'not-found') || isFailure(error, 'forbidden')) return undefined
    throw error
  }
}

/** What the Pod of a replica itself shows. */
export function podFindings(pod: JsonObject): readonly Finding[] {
  const spec = objectAt(pod, 'spec')
  const about = `Pod ${nameOf(pod)}`
  const graceSeconds = integerAt(spec, 'terminationGracePeriodSeconds') ?? 30
  const containers = listOf(spec['containers'])
  const findings: Finding[] = []
  if (graceSeconds < GRACE_SECONDS)
    findings.push({
      severity: 'warning',
      about,
      problem: `its grace period is ${graceSeconds} s, and the default drain needs up to ${GRACE_SECONDS} s, so it may be killed before it releases the lease`,
      remedy: `Set \`terminationGracePeriodSeconds\` to ${GRACE_SECONDS}, or lower \`drainTimeoutMs\`.`,
    })
  for (const probe of ['livenessProbe', 'readinessProbe'])
    if (containers.every((container) => container[probe] === undefined))
      findings.push({
        severity: 'warning',
        about,
        problem: `none of its containers has a ${probe}`,
        remedy: 'Add the probes that `tenure manifests` prints.',
      })
  return [...findings, ...containers.flatMap((container) => settingFindings(about, container))]
}

/** A fixed identity is shared by all replicas, and gates turn guarantees off. */
function settingFindings(about: string, container: JsonObject): readonly Finding[] {
  const valueOf = (name: string) =>
    stringAt(listOf(container['env']).find((entry) => entry['name'] === name) ?? {}, 'value')
  const identity = valueOf('TENURE_IDENTITY')
  const off = (valueOf('TENURE_FEATURE_GATES') ?? '').split(',').filter((gate) => /=false$/i.test(gate.trim()))
  return [
    ...(identity === undefined
      ? []
      : [
          {
            severity: 'error',
            about,
            problem: `\`TENURE_IDENTITY\` is \`${identity}\` in every replica, so two of them may lead under one name`,
            remedy: 'Remove it.',
          } as const,
        ]),
    ...off.map((gate) => ({
      severity: 'note' as const,
      about,
      problem: `the feature gate ${gate.trim()} turns a part of the handover off`,
      remedy: 'Remove it from `TENURE_FEATURE_GATES`, unless you need it.',
    })),
  ]
}

/** Whether a disruption budget covers a replica, and lets a node drain evict it. */
export function budgetFindings(pod: JsonObject, budgets: readonly JsonObject[]): readonly Finding[] {
  const labels = objectAt(objectAt(pod, 'metadata'), 'labels')
  const covering = budgets.filter((budget) => selects(objectAt(budget, 'spec'), labels))
  const about = `Pod ${nameOf(pod)}`
  if (covering.length === 0)
    return [
      {
        severity: 'warning',
        about,
        problem: 'no PodDisruptionBudget covers it, so a node drain may evict all replicas at once',
        remedy: 'Apply the PodDisruptionBudget that `tenure manifests` prints.',
      },
    ]
  return covering
    .filter((budget) => ['0', '0%'].includes(String(objectAt(budget, 'spec')['maxUnavailable'] as string | number)))
    .map((budget) => ({
      severity: 'error',
      about: `PodDisruptionBudget ${nameOf(budget)}`,
      problem: 'it allows no disruption, so a node with a replica cannot be drained',
      remedy: 'Set `maxUnavailable` to 1: a leader that is evicted hands over.',
    }))
}

function selects(spec: JsonObject, labels: JsonObject): boolean {
  const wanted = Object.entries(objectAt(objectAt(spec, 'selector'), 'matchLabels'))
  return wanted.length > 0 && wanted.every(([key, value]) => labels[key] === value)
}

/** Replicas with different images follow different rules while a rollout lasts, or because one is stuck. */
function imageFindings({ namespace, name }: StoredLease, pods: readonly JsonObject[]): readonly Finding[] {
  const images = new Set(
    pods.map((pod) =>
      listOf(objectAt(pod, 'spec')['containers'])
        .map((each) => stringAt(each, 'image') ?? '')
        .join(' '),
    ),
  )
  if (images.size < 2) return []
  return [
    {
      severity: 'note',
      about: `lease ${namespace}/${name}`,
      problem: `its replicas run ${images.size} different images: ${[...images].join(', ')}`,
      remedy: 'Complete the rollout, or undo it.',
    },
  ]
}

function nameOf(object: JsonObject): string {
  const metadata = objectAt(object, 'metadata')
  return `${stringAt(metadata, 'namespace') ?? ''}/${stringAt(metadata, 'name') ?? ''}`
}

function listOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : []
}
