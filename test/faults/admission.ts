import { holderCheck } from '@tenure/kubernetes'
import { type Api, MERGE_PATCH } from './api.ts'
import { type FencedCluster, until } from './fenced-cluster.ts'

/** How fast the holder check follows the lease. */
export interface AdmissionResult {
  /** For each change of holder and each API server, how long the former holder could still write, in milliseconds. */
  readonly windowsMs: readonly number[]
  /** For each change of holder and each API server, how long until the new holder could write, in milliseconds. */
  readonly waitsMs: readonly number[]
  /** Writes of the new holder. */
  readonly writes: number
  /** Refused writes of the new holder. Each was repeated until it was accepted. */
  readonly denied: number
}

/** The number of writes of a new holder after a handover: as many as a leader sends in a few seconds. */
const WRITES_PER_TERM = 40

let namespaces = 0

/** Hands a lease back and forth between two Pods that write continuously through every API server. */
export async function measureAdmission(cluster: FencedCluster, handovers: number): Promise<AdmissionResult> {
  const namespace = `admission-${++namespaces}`
  await cluster.createNamespace(namespace)
  const writers = [await cluster.createWriter(namespace, 'pod-0'), await cluster.createWriter(namespace, 'pod-1')]
  const clients = writers.map((writer) => cluster.clientsOf(writer))
  const leases = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`
  const spec = { holderIdentity: 'pod-0_a', leaseDurationSeconds: 60 }
  await cluster.admin.expect('POST', leases, { metadata: { name: 'janitor' }, spec })
  await cluster.apply(
    holderCheck({
      lease: { name: 'janitor', namespace },
      resources: [{ apiGroup: '', resources: ['configmaps'] }],
      writers: writers.map(({ user }) => user),
    }),
  )
  const mayWrite = async (api: Api): Promise<boolean> => {
    const path = `/api/v1/namespaces/${namespace}/configmaps?dryRun=All`
    return (await api.send('POST', path, { metadata: { name: 'probe' } })).status === 201
  }
  for (const api of clients[1] ?? []) await until('the holder check to hold', async () => !(await mayWrite(api)))
  const result = { windowsMs: [] as number[], waitsMs: [] as number[], writes: 0, denied: 0 }
  const writeUntilRefused = async (api: Api, changedAt: number): Promise<void> => {
    while (await mayWrite(api));
    result.windowsMs.push(performance.now() - changedAt)
  }
  const writeAsHolder = async (api: Api, changedAt: number): Promise<void> => {
    for (let write = 0; write < WRITES_PER_TERM; write++) {
      while (!(await mayWrite(api))) result.denied += 1
      if (write === 0) result.waitsMs.push(performance.now() - changedAt)
    }
    result.writes += WRITES_PER_TERM
  }
  for (let handover = 1; handover <= handovers; handover++) {
    const [former = [], next = []] = handover % 2 === 1 ? clients : clients.toReversed()
    const body = { spec: { holderIdentity: `pod-${handover % 2}_${handover}` } }
    await cluster.admin.expect('PATCH', `${leases}/janitor`, body, MERGE_PATCH)
    const changedAt = performance.now()
    await Promise.all([
      ...former.map((api) => writeUntilRefused(api, changedAt)),
      ...next.map((api) => writeAsHolder(api, changedAt)),
    ])
  }
  for (const api of clients.flat()) api[Symbol.dispose]()
  return result
}
