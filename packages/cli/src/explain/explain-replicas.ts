import type { PresentLease } from '@tenure/core'
import { readProcessRef, textOf } from '@tenure/core/internal'
import { integerAt, isJsonObject, objectAt, stringAt, type JsonObject } from '@tenure/kubernetes/internal'
import { ApiRequestError } from '@tenure/kubernetes'
import type { Cluster } from '../cluster/cluster.ts'
import type { PodPort } from '../cluster/pod-port.ts'
import { countOf } from '../count-of.ts'
import { asking, type AskOps, askPort } from '../dev/ask-ops-port.ts'
import { replicaOfDev } from '../dev/ask-running-dev.ts'
import type { Terminal } from '../terminal.ts'
import { isFailure, type StoredLease } from '../cluster/leases.ts'

/** What a replica says of itself. */
export interface ReplicaReport {
  readonly identity: string
  readonly sentences: readonly string[]
}

/** The port that manifests give to the operations port. */
const OPS_PORT = 'ops'

/**
 * Asks a replica why it leads or does not lead, for its health checks and for its tasks, through port-forwards. That needs the rights to
 * `get` `pods`, and to `get` and `create` `pods/portforward`. Failures become sentences: a replica that cannot be reached is often the
 * reason.
 */
export async function explainReplica(cluster: Cluster, identity: string, stored: StoredLease): Promise<ReplicaReport> {
  const pod = podOf(identity, stored.lease)
  try {
    const object = await cluster.get({
      group: '',
      version: 'v1',
      resource: 'pods',
      namespace: cluster.namespace,
      name: pod,
    })
    const phase = stringAt(objectAt(object, 'status'), 'phase') ?? 'Running'
    if (phase !== 'Running') return { identity, sentences: [`its Pod ${pod} does not run: its phase is ${phase}`] }
    const port = opsPortIn(object)
    if (port === undefined) return { identity, sentences: [`its Pod ${pod} has no port with the name ${OPS_PORT}`] }
    return { identity, sentences: await sentencesOfPod(cluster.portOf(pod, port), stored.name) }
  } catch (error) {
    return { identity, sentences: [reasonOf(error, pod)] }
  }
}

/** Asks the replicas that `tenure dev` runs on this machine directly, and all others as {@link explainReplica}. */
export function explainReplicaOf(terminal: Terminal): typeof explainReplica {
  return async (cluster, identity, stored) => {
    const isEmbedded = await cluster.isEmbedded().catch(() => false)
    const found = isEmbedded ? await replicaOfDev(identity, terminal) : undefined
    if (found === undefined) return explainReplica(cluster, identity, stored)
    return reportOf(identity, stored.name, askPort(found.opsPort, terminal))
  }
}

/** What a replica says of itself, or that it does not answer. */
export async function reportOf(identity: string, lease: string, ask: AskOps): Promise<ReplicaReport> {
  const sentences = await sentencesOf(ask, lease).catch((error: unknown) => [`it is out of reach: ${textOf(error)}`])
  return { identity, sentences }
}

function reasonOf(error: unknown, pod: string): string {
  if (error instanceof ApiRequestError && error.statusCode === 404)
    return `there is no Pod ${pod}, so it does not run as one, or has ended`
  if (isFailure(error, 'forbidden') || isFailure(error, 'unauthenticated')) return `it was not asked: ${textOf(error)}`
  return `it is out of reach: ${textOf(error)}`
}

/** The Pod of a replica: the one that the holder published, or the part of its identity before the underscore. */
export function podOf(identity: string, { record }: PresentLease): string {
  const published = identity === record.holderIdentity ? parse(readProcessRef(record)) : {}
  return stringAt(published, 'pod') ?? identity.slice(0, identity.includes('_') ? identity.lastIndexOf('_') : undefined)
}

async function sentencesOfPod(port: PodPort, lease: string): Promise<readonly string[]> {
  try {
    return await sentencesOf(
      asking((path) => port.get(path)),
      lease,
    )
  } finally {
    await port[Symbol.asyncDispose]()
  }
}

function opsPortIn(pod: JsonObject): number | undefined {
  const { containers } = objectAt(pod, 'spec')
  const ports = listOf(containers).flatMap((container) => listOf(container['ports']))
  return integerAt(ports.find((each) => each['name'] === OPS_PORT) ?? {}, 'containerPort')
}

/** What a replica reports: why it leads this lease or does not lead it, its health checks, the tasks of its term, and refused writes. */
export async function sentencesOf(ask: AskOps, lease: string): Promise<readonly string[]> {
  const [explanation, metrics = ''] = await Promise.all([ask('/explain'), ask('/metrics')])
  // An older version of Tenure does not serve it.
  if (explanation === undefined) return [...(await checksOf(ask)), ...tasksIn(metrics), ...refusalsIn(metrics)]
  return [...explanationIn(explanation, lease), ...(await checksOf(ask)), ...refusalsIn(metrics)]
}

function explanationIn(text: string, lease: string): readonly string[] {
  const prefix = `${lease}: `
  const lines = text.split('\n').filter((line) => line.startsWith(prefix))
  const sentences = lines.map((line) => lowered(line.slice(prefix.length).replace(/\.$/, '')))
  return sentences.length === 0 ? [`it does not compete for ${lease}`] : sentences
}

/** The sentences follow the identity of the replica. */
function lowered(sentence: string): string {
  return sentence.replace(/^(It|Its|The|This)\b/, (word) => word.toLowerCase())
}

/** The checks that fail, with their reasons. */
async function checksOf(ask: AskOps): Promise<readonly string[]> {
  const texts = await Promise.all(['/livez?verbose', '/readyz?verbose'].map(async (check) => (await ask(check)) ?? ''))
  const failed = texts.flatMap((text) => [...text.matchAll(/^\[-\](?<check>.+)$/gm)].map(([line]) => line.slice(3)))
  return failed.length === 0 ? ['its health checks pass'] : failed.map((line) => `its check ${line}`)
}

/** The tasks of its term, by controller. */
function tasksIn(metrics: string): readonly string[] {
  return samplesOf('tenure_tasks', metrics).map(
    ({ labels, value }) => `its controller ${labelIn(labels, 'controller')} has ${countOf(value, 'task')}`,
  )
}

/** The writes of ended terms that the gates of the process have refused since it started. */
function refusalsIn(metrics: string): readonly string[] {
  return samplesOf('tenure_gate_refusals_total', metrics).map(({ labels, value }) => {
    const requests = countOf(value, `${labelIn(labels, 'verb')} request`)
    return `its gates have refused ${requests} of ${labelIn(labels, 'controller')}`
  })
}

interface Sample {
  readonly labels: string
  readonly value: number
}

/** The samples of a metric that are not 0. */
function samplesOf(metric: string, page: string): readonly Sample[] {
  return [...page.matchAll(/^(\w+)\{([^}]*)\} (\d+)$/gm)].flatMap(([, name, labels = '', value = '']) =>
    name === metric && value !== '0' ? [{ labels, value: Number(value) }] : [],
  )
}

function labelIn(labels: string, name: string): string {
  return new RegExp(`\\b${name}="([^"]*)"`).exec(labels)?.[1] ?? '?'
}

function listOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : []
}

function parse(text: string | undefined): JsonObject {
  try {
    const value: unknown = JSON.parse(text ?? '{}')
    return isJsonObject(value) ? value : {}
  } catch {
    return {}
  }
}
