import type { Command } from 'commander'
import { addClusterCommand, type ClusterFlags } from '../add-command.ts'
import { Cluster } from '../cluster/cluster.ts'
import { readLease } from '../cluster/leases.ts'
import { readFacts } from '../status/lease-facts.ts'
import { leaseStatus } from '../status/lease-status.ts'
import { printable } from '../status/table.ts'
import type { Invocation, Terminal } from '../terminal.ts'
import { explainLease, replicasOf } from './explain-lease.ts'
import { explainReplica } from './explain-replicas.ts'

/** The flags of `tenure explain`. */
interface ExplainFlags extends ClusterFlags {
  readonly replicas: boolean
}

/** Adds `tenure explain`. */
export function addExplain(program: Command, { terminal }: Invocation): void {
  addClusterCommand(program, {
    usage: 'explain <lease>',
    does: 'say why nobody leads, why the lease is not released, and what its replicas report',
    examples: ['tenure explain janitor -n ops'],
  })
    .option('--no-replicas', 'do not ask the replicas, which needs the right to get pods and pods/proxy')
    .action((name: string, flags: ExplainFlags) => explain(name, flags, terminal))
}

async function explain(name: string, flags: ExplainFlags, terminal: Terminal): Promise<void> {
  const cluster = Cluster.open(flags, terminal)
  try {
    const stored = await readLease(cluster, name)
    const { clock } = terminal
    const facts = await readFacts(cluster, cluster.namespace, clock.wallTime())
    const status = leaseStatus(stored, { facts, now: clock.now(), wallTime: clock.wallTime() })
    for (const sentence of explainLease(stored, status)) terminal.out(`${printable(sentence)}\n`)
    if (!flags.replicas) return
    const reports = await Promise.all(
      replicasOf(stored).map((identity) => explainReplica(cluster, identity, stored.lease)),
    )
    for (const { identity, sentences } of reports)
      for (const sentence of sentences) terminal.out(`${printable(`${identity}: ${sentence}`)}.\n`)
  } finally {
    await cluster[Symbol.asyncDispose]()
  }
}
