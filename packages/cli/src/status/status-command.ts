import { OptionsError } from '@tenure/core'
import { toYaml } from '@tenure/kubernetes'
import { type Command, Option } from 'commander'
import { addClusterCommand } from '../add-command.ts'
import { Cluster } from '../cluster/cluster.ts'
import { listLeases, readLease } from '../cluster/leases.ts'
import type { Invocation, Terminal } from '../terminal.ts'
import { readFacts } from './lease-facts.ts'
import { type LeaseStatus, leaseStatus } from './lease-status.ts'
import type { StatusFlags } from './status-flags.ts'
import { statusTable } from './status-table.ts'
import { watchStatus } from './watch-status.ts'

/** Adds `tenure status`. */
export function addStatus(program: Command, { terminal }: Invocation): void {
  addClusterCommand(program, {
    usage: 'status [lease]',
    does: 'show who holds the leases of a cluster, whichever client wrote them',
    examples: ['tenure status -A', 'tenure status janitor -n ops -o wide --watch'],
  })
    .option('-A, --all-namespaces', 'show the leases of all namespaces')
    .addOption(new Option('-o, --output <format>', 'the format').choices(['wide', 'json', 'yaml']))
    .option('-w, --watch', 'show changes until Ctrl-C')
    .action((name: string | undefined, flags: StatusFlags) => status(name, flags, terminal))
}

async function status(name: string | undefined, flags: StatusFlags, terminal: Terminal): Promise<void> {
  if (name !== undefined && flags.allNamespaces === true)
    throw new OptionsError('Expected either the name of a lease or `--all-namespaces`')
  if (flags.watch === true && flags.output === 'yaml') throw new OptionsError('Expected `-o json` beside `--watch`')
  const cluster = Cluster.open(flags, terminal)
  try {
    if (flags.watch === true) return await watchStatus(cluster, { name, flags }, terminal)
    const namespace = flags.allNamespaces === true ? '' : cluster.namespace
    const leases = name === undefined ? await listLeases(cluster, namespace) : [await readLease(cluster, name)]
    const { clock } = terminal
    const facts = await readFacts(cluster, namespace, clock.wallTime())
    const context = { facts, now: clock.now(), wallTime: clock.wallTime() }
    const rows = leases.map((lease) => leaseStatus(lease, context))
    if (rows.length === 0 && isTable(flags)) terminal.err(`There are no leases ${whereOf(namespace)}.\n`)
    else terminal.out(statusText(rows, flags, terminal))
  } finally {
    await cluster[Symbol.asyncDispose]()
  }
}

function isTable({ output }: StatusFlags): boolean {
  return output === undefined || output === 'wide'
}

function whereOf(namespace: string): string {
  return namespace === '' ? 'in the cluster' : `in the namespace ${namespace}`
}

/** The rows in the format of the flags. */
function statusText(rows: readonly LeaseStatus[], flags: StatusFlags, { columns }: Terminal): string {
  if (flags.output === 'json') return `${JSON.stringify(rows, null, 2)}\n`
  if (flags.output === 'yaml') return toYaml(JSON.parse(JSON.stringify(rows)) as object[])
  return statusTable(rows, {
    isWide: flags.output === 'wide',
    withNamespaces: flags.allNamespaces === true,
    columns,
  })
}
