import type { PresentLease } from '@tenure/core'
import { readProcessRef, textOf } from '@tenure/core/internal'
import { integerAt, isJsonObject, objectAt, stringAt, type JsonObject } from '@tenure/kubernetes/internal'
import { ApiRequestError } from '@tenure/kubernetes'
import type { Cluster, ResourcePath } from '../cluster/cluster.ts'

/** What a replica says of itself. */
export interface ReplicaReport {
  readonly identity: string
  readonly sentences: readonly string[]
}

/** The port that manifests give to the operations port. */
const OPS_PORT = 'ops'

/**
 * Asks a replica for its health checks and its tasks, through the proxy of the API server. That needs the right to `get` `pods/proxy`.
 * Failures become sentences: a replica that cannot be reached is often the reason.
 */
export async function explainReplica(cluster: Cluster, identity: string, lease: PresentLease): Promise<ReplicaReport> {
  const pod = podOf(identity, lease)
  try {
    const path = await opsPath(cluster, pod)
    if (path === undefined) return { identity, sentences: [`its Pod ${pod} has no port with the name ${OPS_PORT}`] }
    return { identity, sentences: await sentencesOf((suffix) => cluster.text(path, suffix)) }
  } catch (error) {
    return { identity, sentences: [reasonOf(error, pod)] }
  }
}

function reasonOf(error: unknown, pod: string): string {
  if (error instanceof ApiRequestError && error.statusCode === 404)
    return `there is no Pod ${pod}, so it does not run as one, or has ended`
  return `it cannot be asked: ${textOf(error)}`
}

/** The Pod of a replica: the one that the holder published, or the part of its identity before the underscore. */
export function podOf(identity: string, { record }: PresentLease): string {
  const published = identity === record.holderIdentity ? parse(readProcessRef(record)) : {}
  return stringAt(published, 'pod') ?? identity.slice(0, identity.includes('_') ? identity.lastIndexOf('_') : undefined)
}

async function opsPath(cluster: Cluster, name: string): Promise<ResourcePath | undefined> {
  const path = { group: '', version: 'v1', resource: 'pods', namespace: cluster.namespace, name }
  const { containers } = objectAt(await cluster.get(path), 'spec')
  const ports = listOf(containers).flatMap((container) => listOf(container['ports']))
  const port = integerAt(ports.find((each) => each['name'] === OPS_PORT) ?? {}, 'containerPort')
  return port === undefined ? undefined : { ...path, name: `${name}:${port}`, subresource: 'proxy' }
}

/** Asks an operations port for a path. */
export type AskOps = (path: string) => Promise<string>

/** What a replica reports: its health checks, and the tasks of its term. */
export async function sentencesOf(ask: AskOps): Promise<readonly string[]> {
  return [...(await checksOf(ask)), ...(await tasksOf(ask))]
}

/** The checks that fail, with their reasons. */
async function checksOf(ask: AskOps): Promise<readonly string[]> {
  const texts = await Promise.all(['/livez?verbose', '/readyz?verbose'].map((check) => ask(check)))
  const failed = texts.flatMap((text) => [...text.matchAll(/^\[-\](?<check>.+)$/gm)].map(([line]) => line.slice(3)))
  return failed.length === 0 ? ['its health checks pass'] : failed.map((line) => `its check ${line}`)
}

/** The tasks of its term, by controller, from its metrics. */
async function tasksOf(ask: AskOps): Promise<readonly string[]> {
  const page = await ask('/metrics')
  const tasks = [...page.matchAll(/^tenure_tasks\{(?<labels>[^}]*)\} (?<count>\d+)$/gm)]
  return tasks
    .filter(({ groups }) => groups?.['count'] !== '0')
    .map(
      ({ groups }) =>
        `its controller ${/controller="([^"]*)"/.exec(groups?.['labels'] ?? '')?.[1] ?? '?'} has ${groups?.['count']} tasks`,
    )
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
