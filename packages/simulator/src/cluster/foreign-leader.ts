import type { LeaseRecord, PresentLease } from '@tenure/core'
import { formatMicroTime } from '@tenure/core/internal'
import type { Cluster } from './cluster.ts'

const IDENTITY = 'foreign'

/**
 * Lets another client acquire the lease when a replica releases it, if that happens before the faults end. It leads for `ms`, writes every
 * key of the store again, and releases the lease. Like client-go it keeps annotations that it does not know.
 */
export function leadForeign(cluster: Cluster, lease: string, ms: number): void {
  const stop = cluster.server.watch(
    lease,
    (snapshot) => {
      if (cluster.isCalm) stop()
      if (cluster.isCalm || snapshot.kind !== 'present' || snapshot.record.holderIdentity !== '') return
      stop()
      cluster.agenda.add(cluster.now + cluster.random(), () => acquire(cluster, lease, ms))
    },
    () => stop(),
  )
}

function acquire(cluster: Cluster, lease: string, ms: number): void {
  const { agenda, now, random, timing } = cluster
  const found = cluster.server.read(lease)
  if (found.kind !== 'present' || found.record.holderIdentity !== '') return
  cluster.say(IDENTITY, 'acquires the lease')
  update(cluster, lease, found, {
    holderIdentity: IDENTITY,
    leaseDurationSeconds: timing.leaseDurationMs / 1000,
    leaseTransitions: (found.record.leaseTransitions ?? 0) + 1,
  })
  agenda.add(now + random() * ms, () => writeEveryKey(cluster))
  agenda.add(now + ms, () => release(cluster, lease))
}

function release(cluster: Cluster, lease: string): void {
  const found = cluster.server.read(lease)
  if (found.kind !== 'present' || found.record.holderIdentity !== IDENTITY) return
  cluster.say(IDENTITY, 'releases the lease')
  update(cluster, lease, found, { holderIdentity: '', leaseDurationSeconds: 1 })
}

function update(cluster: Cluster, lease: string, found: PresentLease, changes: Partial<LeaseRecord>): void {
  const time = formatMicroTime(Date.UTC(2026, 0, 1) + cluster.now)
  cluster.server.write(lease, { ...found.record, ...changes, acquireTime: time, renewTime: time }, found)
}

/** Writes every key with the value that it has. */
function writeEveryKey(cluster: Cluster): void {
  const nobody = { term: undefined, basedOn: undefined, views: new Map<string, number>(), process: IDENTITY }
  const unfenced = { ...nobody, epoch: undefined, ifVersion: undefined }
  for (const [key, { value }] of cluster.store.list().entries) {
    const write = cluster.store.put({ key, value, ...unfenced })
    cluster.tell({ kind: 'acknowledged', write })
  }
}
