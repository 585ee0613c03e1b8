import type { Command } from 'commander'
import { addClusterCommand, type ClusterFlags } from '../add-command.ts'
import { Cluster } from '../cluster/cluster.ts'
import { readLease } from '../cluster/leases.ts'
import type { Invocation } from '../terminal.ts'
import { handOver } from './hand-over.ts'
import { durationFlag } from './timeout-flag.ts'

/** The flags of `tenure step-down`. */
interface StepDownFlags extends ClusterFlags {
  readonly timeout: string
  readonly wait: boolean
}

/** Adds `tenure step-down`. */
export function addStepDown(program: Command, invocation: Invocation): void {
  addClusterCommand(program, {
    usage: 'step-down <lease>',
    does: 'ask the leader, through the lease, to hand over to another replica, and say what came of it',
    examples: ['tenure step-down janitor -n ops'],
  })
    .option('--timeout <duration>', 'how long to wait for the next leader', '60s')
    .option('--no-wait', 'return as soon as the request is written')
    .action(async (name: string, flags: StepDownFlags) => {
      const order = { timeoutMs: durationFlag('--timeout', flags.timeout), isDetached: !flags.wait }
      const cluster = Cluster.open(flags, invocation.terminal)
      try {
        await handOver(cluster, await readLease(cluster, name), order, invocation)
      } finally {
        await cluster[Symbol.asyncDispose]()
      }
    })
}
