import { termCheck } from '@tenure/kubernetes'
import type { Api } from './api.ts'
import type { FencedCluster } from './fenced-cluster.ts'
import { CONFIG_MAPS, DEPLOYMENTS, forgedStatusWrites, forgedWrites, type Target, WIDGETS } from './forged-writes.ts'

let namespaces = 0

const COVERED = [
  { apiGroup: '', resources: ['configmaps'] },
  { apiGroup: 'apps', resources: ['deployments'] },
  { apiGroup: 'faults.tenure.dev', resources: ['widgets'] },
]

/** Sends writes with old epochs, with every verb that the term check covers, to three kinds of objects, through every API server. */
export async function countForged(
  cluster: FencedCluster,
  isGuarded: boolean,
): Promise<{ readonly sent: number; readonly accepted: number }> {
  const namespace = `forged-${++namespaces}`
  await cluster.createNamespace(namespace)
  if (isGuarded) {
    await cluster.apply(termCheck({ lease: { name: 'janitor', namespace }, resources: COVERED }))
    await cluster.untilTermCheckHolds(namespace)
  }
  const [...writers] = cluster.clientsOf(await cluster.createWriter(namespace))
  const accepted: boolean[] = []
  for (const target of [CONFIG_MAPS, DEPLOYMENTS, WIDGETS]) {
    await createTarget(cluster, target, namespace)
    accepted.push(...(await forge(writers, target, namespace)))
  }
  for (const writer of writers) writer[Symbol.dispose]()
  return { sent: accepted.length, accepted: accepted.filter((isAccepted) => isAccepted).length }
}

/** An object that the newest term has written. */
async function createTarget({ admin }: FencedCluster, target: Target, namespace: string): Promise<void> {
  const object = target.object(NAME) as { readonly metadata: object }
  const metadata = { ...object.metadata, annotations: writtenAt('1000') }
  await admin.expect('POST', target.path(namespace), { ...object, metadata })
}

/** Sends every write with every old epoch through every API server; returns which ones were accepted. */
async function forge(writers: readonly Api[], target: Target, namespace: string): Promise<readonly boolean[]> {
  const accepted: boolean[] = []
  for (const { send } of [...forgedWrites(target), ...(target === DEPLOYMENTS ? forgedStatusWrites(target) : [])]) {
    for (const api of writers) {
      for (const epoch of ['0', '1', '999']) {
        const status = await send(api, { target, namespace, name: NAME, annotations: writtenAt(epoch) })
        accepted.push(isAccepted(status))
      }
    }
  }
  return accepted
}

const NAME = 'forged'

function writtenAt(epoch: string): Readonly<Record<string, string>> {
  return { 'tenure.dev/epoch': epoch, 'tenure.dev/lease': 'janitor' }
}

function isAccepted(status: number): boolean {
  if (status < 300) return true
  if (status === 422 || status === 409) return false
  throw new Error(`Expected a refusal, got ${status}`)
}
