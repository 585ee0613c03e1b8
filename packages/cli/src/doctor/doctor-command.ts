import { type Command, Option } from 'commander'
import { addClusterCommand, type ClusterFlags } from '../add-command.ts'
import { Cluster } from '../cluster/cluster.ts'
import { listLeases, readLease, type StoredLease } from '../cluster/leases.ts'
import { countOf } from '../count-of.ts'
import { readFacts } from '../status/lease-facts.ts'
import { leaseStatus } from '../status/lease-status.ts'
import { printable } from '../status/table.ts'
import type { Invocation, Terminal } from '../terminal.ts'
import { exitCodeOf, type Finding, inOrder } from './finding.ts'
import { flowFindings, leaseFindings } from './lease-findings.ts'
import { checkRights } from './rights.ts'
import { checkLatency, clockFindings } from './timing.ts'
import { checkWorkload } from './workload.ts'

/** The flags of `tenure doctor`. */
interface DoctorFlags extends ClusterFlags {
  readonly serviceAccount?: string
  readonly output?: 'json'
}

/** Adds `tenure doctor`. */
export function addDoctor(program: Command, invocation: Invocation): void {
  addClusterCommand(program, {
    usage: 'doctor [lease]',
    does: 'check the leases of a namespace and their replicas: rights, latency, clocks, flow control, policies, Pods; each finding has a remedy',
    examples: ['tenure doctor -n ops', 'tenure doctor janitor -n ops --service-account janitor'],
  })
    .option('--service-account <name>', 'check the rights of this service account, instead of yours')
    .addOption(new Option('-o, --output <format>', 'the format').choices(['json']))
    .addHelpText('after', '\nExits with 4 if there is an error, with 3 if there is a warning, and otherwise with 0.')
    .action((name: string | undefined, flags: DoctorFlags) => doctor(name, flags, invocation))
}

async function doctor(name: string | undefined, flags: DoctorFlags, invocation: Invocation): Promise<void> {
  const { terminal } = invocation
  const cluster = Cluster.open(flags, terminal)
  try {
    const { namespace } = cluster
    const leases = name === undefined ? await listLeases(cluster, namespace) : [await readLease(cluster, name)]
    const rights = { namespace, lease: name ?? leases[0]?.name ?? 'any', serviceAccount: flags.serviceAccount }
    const findings = [
      ...(await checkRights(cluster, rights)),
      ...(await flowFindings(cluster, namespace)),
      ...(await checkLeases(cluster, leases, terminal)),
    ]
    invocation.exitCode = exitCodeOf(findings)
    terminal.out(
      flags.output === 'json' ? `${JSON.stringify(inOrder(findings), null, 2)}\n` : report(findings, leases.length),
    )
  } finally {
    await cluster[Symbol.asyncDispose]()
  }
}

async function checkLeases(
  cluster: Cluster,
  leases: readonly StoredLease[],
  terminal: Terminal,
): Promise<readonly Finding[]> {
  const { clock } = terminal
  const facts = await readFacts(cluster, cluster.namespace, clock.wallTime())
  const findings: Finding[] = []
  for (const lease of leases) {
    const status = leaseStatus(lease, { facts, now: clock.now(), wallTime: clock.wallTime() })
    findings.push(...leaseFindings(lease, status), ...clockFindings(lease, clock.wallTime()))
    findings.push(...(await checkLatency(cluster, lease, terminal)), ...(await checkWorkload(cluster, lease)))
  }
  return findings
}

function report(findings: readonly Finding[], leases: number): string {
  const lines = inOrder(findings).map(
    ({ severity, about, problem, remedy }) =>
      `${severity.toUpperCase()}  ${printable(`${about}: ${problem}. ${remedy}`)}\n`,
  )
  return `${lines.join('')}Checked ${countOf(leases, 'lease')}: ${countOf(findings.length, 'finding')}.\n`
}
