import { OptionsError } from '@tenure/core'
import { nearestName, readStandbys } from '@tenure/core/internal'
import type { Command } from 'commander'
import { addClusterCommand, type ClusterFlags } from '../add-command.ts'
import { Cluster } from '../cluster/cluster.ts'
import { readLease, type StoredLease } from '../cluster/leases.ts'
import type { Invocation, Terminal } from '../terminal.ts'
import { handOver } from './hand-over.ts'
import { durationFlag } from './timeout-flag.ts'

/** The flags of `tenure transfer`. */
interface TransferFlags extends ClusterFlags {
  readonly to: string
  readonly timeout: string
  readonly wait: boolean
}

/** Adds `tenure transfer`. */
export function addTransfer(program: Command, invocation: Invocation): void {
  addClusterCommand(program, {
    usage: 'transfer <lease>',
    does: 'ask the leader, through the lease, to hand over to one replica, and say what came of it',
    examples: ['tenure transfer janitor -n ops --to janitor-7d4b9-x2x9z'],
  })
    .requiredOption(
      '--to <id>',
      'the identity of the next leader, or the part of it before the underscore, such as its Pod',
    )
    .option('--timeout <duration>', 'how long to wait for the next leader', '60s')
    .option('--no-wait', 'return as soon as the request is written')
    .action(async (name: string, flags: TransferFlags) => {
      const timeoutMs = durationFlag('--timeout', flags.timeout)
      const cluster = Cluster.open(flags, invocation.terminal)
      try {
        const found = await readLease(cluster, name)
        const to = successorOf(found, flags.to, invocation.terminal)
        await handOver(cluster, found, { to, timeoutMs, isDetached: !flags.wait }, invocation)
      } finally {
        await cluster[Symbol.asyncDispose]()
      }
    })
}

/**
 * The identity of the replica that the user means. A lease lists at most three standbys, so a replica that it does not list may exist.
 * @throws OptionsError if `to` is empty, or that replica leads already
 */
function successorOf({ lease }: StoredLease, to: string, { err }: Terminal): string {
  if (to.trim() === '') throw new OptionsError(`Expected \`--to\` to be the identity of a replica, got \`${to}\``)
  const { record } = lease
  if (isMeant(record.holderIdentity, to))
    throw new OptionsError(`Expected \`--to\` to be another replica than the leader, got \`${to}\``)
  const standbys = readStandbys(record).map(({ identity }) => identity)
  const meant = standbys.filter((identity) => isMeant(identity, to))
  if (meant.length === 1 && meant[0] !== undefined) return meant[0]
  const nearest = nearestName(to, standbys)
  const hint = nearest === undefined ? 'It lists none.' : `Did you mean \`${nearest}\`?`
  err(`Warning: the lease does not list ${to} among its standbys. ${hint}\n`)
  return to
}

function isMeant(identity: string, to: string): boolean {
  return identity === to || identity.startsWith(`${to}_`)
}
