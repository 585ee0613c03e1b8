import { setTimeout as sleep } from 'node:timers/promises'
import { CLUSTER_FAULTS, FAULTS } from './catalogue.ts'
import type { FencedCluster } from './fenced-cluster.ts'
import { Fleet, timingOf } from './fleet.ts'
import type { Fences } from './replica-setup.ts'

/** One fault that struck one fleet. */
export interface Trial {
  readonly fault: string
  /** Additions of an older term after something was written by a newer one. */
  readonly overlaps: number
  /** Additions after the lease had left the hands of their term; not counted where somebody edited the lease. */
  readonly stale: number
  /** From the end of the fault until a leader was seen to add something. */
  readonly recoveryMs: number
}

/** How long it may take until there is a leader again, once nothing is wrong any more. */
export function recoveryBoundMs(leaseMs: number): number {
  return leaseMs + timingOf(leaseMs).requestTimeoutMs + 500
}

/** Strikes every fault of the catalogue `trials` times, each time another fleet. */
export async function strikeFaults(
  cluster: FencedCluster,
  options: {
    readonly fences: Fences
    readonly trials: number
    readonly fleets: number
    readonly leaseMs: number
    /** Only faults whose name holds this text. */
    readonly only: string
  },
): Promise<readonly Trial[]> {
  const fleets = await Promise.all(Array.from({ length: options.fleets }, () => startProxied(cluster, options)))
  const trials: Trial[] = []
  try {
    for (let round = 0; round < options.trials; round += fleets.length) {
      await Promise.all(fleets.map(async (fleet) => void trials.push(...(await strikeAll(cluster, fleet, options)))))
      for (const { name, strikeAndMend } of CLUSTER_FAULTS.filter((fault) => fault.name.includes(options.only))) {
        await Promise.all(fleets.map((fleet) => fleet.untilWorking()))
        const since = fleets.map(({ observer }) => observer.version)
        await strikeAndMend(cluster)
        const judged = fleets.map((fleet, index) =>
          judge(fleet, { fault: name, since: since[index] ?? 0n, edited: false }),
        )
        trials.push(...(await Promise.all(judged)))
      }
    }
  } finally {
    await Promise.all(fleets.map((fleet) => fleet[Symbol.asyncDispose]()))
  }
  return trials
}

function startProxied(
  cluster: FencedCluster,
  { fences, leaseMs }: { readonly fences: Fences; readonly leaseMs: number },
) {
  return Fleet.start(cluster, { fences, leaseMs, everyMs: 20, proxied: true })
}

async function strikeAll(
  cluster: FencedCluster,
  fleet: Fleet,
  { leaseMs, only }: { readonly leaseMs: number; readonly only: string },
): Promise<readonly Trial[]> {
  const trials: Trial[] = []
  for (const fault of FAULTS.filter(({ name }) => name.includes(only)).toSorted(() => Math.random() - 0.5)) {
    const leader = await fleet.untilWorking()
    const since = fleet.observer.version
    const site = { cluster, fleet, leader }
    await fault.strike(site)
    await sleep(1.5 * leaseMs)
    await fault.mend?.(site)
    const edited = fault.editsLease === true
    trials.push(await judge(fleet, { fault: fault.name, since, edited }))
    await fleet.replenish()
  }
  return trials
}

async function judge(
  fleet: Fleet,
  { fault, since, edited }: { readonly fault: string; readonly since: bigint; readonly edited: boolean },
): Promise<Trial> {
  const mendedAt = performance.now()
  const { added } = fleet.observer
  // A request that hangs wedges a term, which ends its process: somebody has to start another one.
  await fleet.replenish()
  await fleet
    .untilWorking(() => fleet.observer.added > added)
    .catch((cause: unknown) => Promise.reject(new Error(`After ${fault}`, { cause })))
  const recoveryMs = performance.now() - mendedAt
  const { stale, overlaps } = fleet.observer.verdict(since)
  return { fault, overlaps, stale: edited ? 0 : stale, recoveryMs }
}
