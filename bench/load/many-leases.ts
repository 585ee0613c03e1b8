import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ControlPlane } from '@tenure/test-control-plane'
import { leaseRole } from '@tenure/kubernetes'
import type { Report } from './messages.ts'
import { ReplicaProcess } from './replica-process.ts'

/** The result of the run. */
export interface ManyLeases {
  readonly cpuPercent: number
  readonly followerCpuPercent: number
  readonly renewalsPerSecond: number
  readonly handoversMs: readonly number[]
  readonly leading: number
}

/** The time limit until the first process leads all leases. */
const PATIENCE_MS = 60_000

/** The second process starts its candidacies in about 2 s, and each joins the standbys within a second. */
const SETTLE_MS = 10_000

/** The share of the leases that changes hands in a minute. */
const SHARE_PER_MINUTE = 0.1

/** The time between two handovers of the single lease. */
const PAUSE_MS = 100

/** How long the other replica leads after a handover: longer than the cool-down of the first replica. */
const STAY_MS = 8000

/** The options of the run. */
export interface ManyLeasesOptions {
  /** The folder for credentials. */
  readonly folder: string
  readonly count: number
  readonly seconds: number
}

/**
 * One process leads `count` leases, and another stands by for all of them. Every minute a tenth of the leases is handed over and back,
 * one at a time. A single lease is handed over continuously. Returns the processor time of the processes, in percent of one core.
 */
export async function manyLeases(
  server: ControlPlane,
  { folder, count, seconds }: ManyLeasesOptions,
): Promise<ManyLeases> {
  const namespace = `many-${count}`
  const leases = Array.from({ length: count }, (_, index) => `lease-${index}`)
  const [name = '', ...others] = leases
  const subjects = ['a', 'b'].map((account) => ({ kind: 'ServiceAccount', name: account, namespace }))
  const { role, roleBinding } = leaseRole({ name, others, namespace, subjects })
  await server.apply([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }])
  await server.apply([role, roleBinding] as Parameters<ControlPlane['apply']>[0])
  const handovers = new Handovers()
  const start = async (identity: string) => {
    const kubeConfigPath = join(folder, `${namespace}-${identity}.kubeconfig`)
    await writeFile(kubeConfigPath, await server.serviceAccountKubeConfig(identity, namespace), { mode: 0o600 })
    return ReplicaProcess.start({ identity, kubeConfigPath, namespace, leases }, (report) => handovers.take(report))
  }
  const a = await start('a')
  await allLed(a, count)
  const b = await start('b')
  await sleep(SETTLE_MS)
  const before = [await a.usage(), await b.usage()] as const
  const until = performance.now() + seconds * 1000
  if (count === 1) await handToAndFro([a, b], name, handovers, until)
  else await handOverInTurn([a, b], leases, until)
  const after = [await a.usage(), await b.usage()] as const
  await Promise.all([a.stop(), b.stop()])
  return {
    cpuPercent: percent(before[0], after[0]),
    followerCpuPercent: percent(before[1], after[1]),
    renewalsPerSecond: (after[0].renewals - before[0].renewals) / secondsBetween(before[0], after[0]),
    handoversMs: handovers.durations,
    leading: after[0].leading,
  }
}

/** @throws Error if the process does not lead all leases in time: the API server or this machine is too slow. */
async function allLed(replica: ReplicaProcess, count: number): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS
  for (;;) {
    const { leading } = await replica.usage()
    if (leading === count) return
    if (performance.now() > deadline) {
      await replica.stop()
      throw new Error(`Expected ${count} leases to be led within ${PATIENCE_MS / 1000} s, got ${leading}`)
    }
    await sleep(500)
  }
}

type Pair = readonly [leader: ReplicaProcess, standby: ReplicaProcess]

async function handToAndFro([a, b]: Pair, lease: string, handovers: Handovers, until: number): Promise<void> {
  for (let [leader, standby] = [a, b]; performance.now() < until; [leader, standby] = [standby, leader]) {
    const successor = handovers.nextRun()
    leader.send({ kind: 'step-down', lease })
    await successor
    await sleep(PAUSE_MS)
  }
}

/** Every handover counts towards the tenth per minute, in both directions. */
async function handOverInTurn([a, b]: Pair, leases: readonly string[], until: number): Promise<void> {
  const away: { readonly lease: string; readonly at: number }[] = []
  for (let next = 0; performance.now() < until;) {
    const due = away[0]
    if (due !== undefined && due.at <= performance.now()) {
      away.shift()
      b.send({ kind: 'step-down', lease: due.lease })
    } else {
      const lease = leases[next++ % leases.length] ?? ''
      away.push({ lease, at: performance.now() + STAY_MS })
      a.send({ kind: 'step-down', lease })
    }
    await sleep(60_000 / (SHARE_PER_MINUTE * leases.length))
  }
}

type Usage = Extract<Report, { kind: 'usage' }>

function secondsBetween(before: Usage, after: Usage): number {
  return Number(BigInt(after.at) - BigInt(before.at)) / 1e9
}

function percent(before: Usage, after: Usage): number {
  return (after.cpuMicros - before.cpuMicros) / 1e4 / secondsBetween(before, after)
}

/** Pairs the decision to step down with the run of the successor's controller. */
class Handovers {
  readonly durations: number[] = []
  readonly #began = new Map<string, bigint>()
  #waiters: (() => void)[] = []

  take(report: Report): void {
    if (report.kind === 'stepping-down') this.#began.set(report.lease, BigInt(report.at))
    if (report.kind !== 'running') return
    const began = this.#began.get(report.lease)
    if (began !== undefined) this.durations.push(Number(BigInt(report.at) - began) / 1e6)
    this.#began.delete(report.lease)
    for (const waiter of this.#waiters.splice(0)) waiter()
  }

  async nextRun(): Promise<void> {
    await new Promise<void>((resolve) => this.#waiters.push(resolve))
  }
}
