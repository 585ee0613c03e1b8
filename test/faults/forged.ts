import { termCheck } from '@tenure/kubernetes'
import type { FencedCluster } from './fenced-cluster.ts'
import { CONFIG_MAPS, DEPLOYMENTS, forgedStatusWrites, forgedWrites, WIDGETS } from './forged-writes.ts'

let namespaces = 0

/** Sends writes with old epochs by every verb that the term check covers, to objects of three kinds, through every API server. */
export async function countForged(
  cluster: FencedCluster,
  isGuarded: boolean,
): Promise<{ readonly sent: number; readonly accepted: number }> {
  const namespace = `forged-${++namespaces}`
  await cluster.createNamespace(namespace)
  if (isGuarded) {
    const resources = [
      { apiGroup: '', resources: ['configmaps'] },
      { apiGroup: 'apps', resources: ['deployments'] },
      { apiGroup: 'faults.tenure.dev', resources: ['widgets'] },
    ]
    await cluster.apply(termCheck({ lease: { name: 'janitor', namespace }, resources }))
    await cluster.untilTermCheckHolds(namespace)
  }
  const [...writers] = cluster.clientsOf(await cluster.createWriter(namespace))
  const counts = { sent: 0, accepted: 0 }
  for (const target of [CONFIG_MAPS, DEPLOYMENTS, WIDGETS]) {
    const object = target.object('forged') as { readonly metadata: object }
    const annotations = { 'tenure.dev/epoch': '1000', 'tenure.dev/lease': 'janitor' }
    await cluster.admin.expect('POST', target.path(namespace), {
      ...object,
      metadata: { ...object.metadata, annotations },
    })
    const verbs = [...forgedWrites(target), ...(target === DEPLOYMENTS ? forgedStatusWrites(target) : [])]
    for (const { send } of verbs) {
      for (const api of writers) {
        for (const epoch of ['0', '1', '999']) {
          const older = { 'tenure.dev/epoch': epoch, 'tenure.dev/lease': 'janitor' }
          const status = await send(api, { target, namespace, name: 'forged', annotations: older })
          counts.sent += 1
          if (status < 300) counts.accepted += 1
          else if (status !== 422 && status !== 409) throw new Error(`Expected a refusal, got ${status}`)
        }
      }
    }
  }
  for (const writer of writers) writer[Symbol.dispose]()
  return counts
}
