import type { Command } from 'commander'
import { addClusterCommand, type ClusterFlags } from '../add-command.ts'
import { Cluster } from '../cluster/cluster.ts'
import { printable } from '../status/table.ts'
import type { Invocation, Terminal } from '../terminal.ts'
import { explanation } from './explanation.ts'
import { explainReplicaOf } from './explain-replicas.ts'

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
    .option(
      '--no-replicas',
      'do not ask the replicas, which needs the rights to get pods, and to get and create pods/portforward',
    )
    .action((name: string, flags: ExplainFlags) => explain(name, flags, terminal))
}

async function explain(name: string, flags: ExplainFlags, terminal: Terminal): Promise<void> {
  const cluster = Cluster.open(flags, terminal)
  try {
    const options = { cluster, name, askReplica: flags.replicas ? explainReplicaOf(terminal) : undefined }
    for (const sentence of await explanation(options, terminal)) terminal.out(`${printable(sentence)}\n`)
  } finally {
    await cluster[Symbol.asyncDispose]()
  }
}
