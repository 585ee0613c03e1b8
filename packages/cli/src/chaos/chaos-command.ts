import { OptionsError } from '@tenure/core'
import type { Command } from 'commander'
import { addClusterCommand, type ClusterFlags } from '../add-command.ts'
import { Cluster } from '../cluster/cluster.ts'
import { readLease, type StoredLease } from '../cluster/leases.ts'
import { replicaOfDev } from '../dev/ask-running-dev.ts'
import { podOf } from '../explain/explain-replicas.ts'
import { durationText } from '../status/duration.ts'
import { handOver, successorOf } from '../step-down/hand-over.ts'
import { durationFlag } from '../step-down/timeout-flag.ts'
import { type Invocation, pause, type Terminal } from '../terminal.ts'

/** The flags of `tenure chaos`. */
interface ChaosFlags extends ClusterFlags {
  readonly every: string
  readonly timeout: string
  readonly times?: string
  readonly kill?: boolean
  readonly yes?: boolean
}

/** How to end leaders. */
interface ChaosPlan {
  readonly lease: string
  readonly everyMs: number
  /** How long there may be no leader after each end. */
  readonly timeoutMs: number
  /** How many leaders to end. */
  readonly times: number
  /** Whether half of them are killed. */
  readonly kills: boolean
}

/** Adds `tenure chaos`. */
export function addChaos(program: Command, invocation: Invocation): void {
  addClusterCommand(program, {
    usage: 'chaos <lease>',
    does: 'end the leader of a lease again and again, until Ctrl-C, to see that another one takes over',
    examples: ['tenure chaos janitor -n ops --every 30s', 'tenure chaos janitor -n ops --kill --times 20 --yes'],
  })
    .option('--every <duration>', 'the mean time between two ends', '30s')
    .option('--times <n>', 'how many leaders to end; default: until Ctrl-C')
    .option('--timeout <duration>', 'how long it may take until another replica leads', '60s')
    .option('--kill', 'kill every second leader, on average: delete its Pod without a grace period')
    .option('--yes', 'also on a cluster that is not that of `tenure dev`')
    .action((lease: string, flags: ChaosFlags) => chaos(lease, flags, invocation))
}

async function chaos(lease: string, flags: ChaosFlags, invocation: Invocation): Promise<void> {
  const plan: ChaosPlan = {
    lease,
    everyMs: durationFlag('--every', flags.every),
    timeoutMs: durationFlag('--timeout', flags.timeout),
    times: timesOf(flags),
    kills: flags.kill === true,
  }
  const cluster = Cluster.open(flags, invocation.terminal)
  try {
    if (flags.yes !== true && !(await cluster.isEmbedded()))
      throw new OptionsError(`Expected \`--yes\`, because ${cluster.server} is not the API server of \`tenure dev\``)
    await readLease(cluster, lease)
    await endLeaders(cluster, plan, invocation)
  } finally {
    await cluster[Symbol.asyncDispose]()
  }
}

function timesOf({ times }: ChaosFlags): number {
  if (times === undefined) return Infinity
  if (/^[1-9]\d{0,5}$/.test(times)) return Number(times)
  throw new OptionsError(`Expected \`--times\` to be a whole number from 1, got \`${times}\``)
}

/** Ends leaders. An interrupt between two of them ends the command with code 0. */
async function endLeaders(cluster: Cluster, plan: ChaosPlan, invocation: Invocation): Promise<void> {
  const { terminal } = invocation
  let failures = 0
  for (let ended = 0; ended < plan.times; ended++) {
    // Between half of the time and one and a half times as long.
    await pause(terminal, plan.everyMs * (0.5 + terminal.random()), terminal.interrupted)
    if (terminal.interrupted.aborted) break
    if (!(await endLeader(cluster, plan, invocation))) failures += 1
  }
  invocation.exitCode = failures > 0 ? 1 : 0
}

/** Ends one leader. Returns whether another replica leads in time. */
async function endLeader(cluster: Cluster, plan: ChaosPlan, invocation: Invocation): Promise<boolean> {
  const found = await readLease(cluster, plan.lease)
  if (found.lease.record.holderIdentity === '') {
    invocation.terminal.err(`Nobody holds ${found.namespace}/${found.name}.\n`)
    return false
  }
  if (plan.kills && invocation.terminal.random() < 0.5) return kill(cluster, found, plan, invocation)
  await handOver(cluster, found, { timeoutMs: plan.timeoutMs, isDetached: false }, invocation)
  return invocation.exitCode === 0
}

/** Kills a replica of `tenure dev`, or deletes its Pod without a grace period. Returns what it did. */
async function endProcess(
  cluster: Cluster,
  { namespace, lease }: Pick<StoredLease, 'namespace' | 'lease'>,
  terminal: Terminal,
): Promise<string> {
  const holder = lease.record.holderIdentity
  const isEmbedded = await cluster.isEmbedded()
  if (isEmbedded && (await replicaOfDev(holder, terminal, { kill: true })) !== undefined) return `Killed ${holder}.\n`
  const pod = podOf(holder, lease)
  const path = { group: '', version: 'v1', resource: 'pods', namespace, name: pod }
  await cluster.send(path, { method: 'DELETE', verb: 'delete', query: { gracePeriodSeconds: '0' } })
  return `Deleted the Pod ${pod} of ${holder} without a grace period.\n`
}

async function kill(
  cluster: Cluster,
  { namespace, name, lease }: StoredLease,
  { timeoutMs }: ChaosPlan,
  { terminal }: Invocation,
): Promise<boolean> {
  const { holderIdentity: holder, acquireTime } = lease.record
  const since = terminal.clock.now()
  terminal.out(await endProcess(cluster, { namespace, lease }, terminal))
  const request = { id: '', namespace, lease: name, holder, acquireTime }
  const next = await successorOf(cluster, { request, since, timeoutMs }, terminal)
  const tookMs = durationText(terminal.clock.now() - since)
  if (next === '') terminal.err(`Nobody has acquired ${namespace}/${name} within ${tookMs}.\n`)
  else terminal.out(`${next} leads ${namespace}/${name}, ${tookMs} later.\n`)
  return next !== ''
}
