import type { Cluster } from '../cluster/cluster.ts'
import { readLease } from '../cluster/leases.ts'
import { readFacts } from '../status/lease-facts.ts'
import { leaseStatus } from '../status/lease-status.ts'
import type { Terminal } from '../terminal.ts'
import { explainLease, replicasOf } from './explain-lease.ts'
import type { explainReplica } from './explain-replicas.ts'

/** What to explain. */
export interface ExplanationOptions {
  /** Its namespace is that of the lease. */
  readonly cluster: Cluster
  readonly name: string
  /** Asks a replica that the lease names; undefined to ask none. */
  readonly askReplica: typeof explainReplica | undefined
}

/** Why nobody leads, or why a lease is not released: sentences of the lease, then of each replica. @throws UnknownLeaseError */
export async function explanation(
  { cluster, name, askReplica }: ExplanationOptions,
  { clock }: Terminal,
): Promise<readonly string[]> {
  const stored = await readLease(cluster, name)
  const facts = await readFacts(cluster, cluster.namespace, clock.wallTime())
  const status = leaseStatus(stored, { facts, now: clock.now(), wallTime: clock.wallTime() })
  const asked =
    askReplica === undefined ? [] : replicasOf(stored).map((identity) => askReplica(cluster, identity, stored))
  const reports = await Promise.all(asked)
  return [
    ...explainLease(stored, status),
    ...reports.flatMap(({ identity, sentences }) => sentences.map((each) => `${identity}: ${each}.`)),
  ]
}
