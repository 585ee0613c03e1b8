import { setTimeout as sleep } from 'node:timers/promises'
import { allOf } from './all-of.ts'
import type { Arena, WayKind } from './arena.ts'
import { CLUSTER_FAULTS, type Fault } from './catalogue.ts'
import { Fleet, type FleetOptions, timingOf } from './fleet.ts'

/** One fault that struck one fleet. */
export interface Trial {
  readonly fault: string
  /** Additions of an older term after something was written by a newer one. */
  readonly overlaps: number
  /** Additions after the lease had left the hands of their term; not counted where somebody edited the lease, or writes were delayed. */
  readonly stale: number
  /** The longest time without an addition, from the end of the fault until a leader adds again. */
  readonly recoveryMs: number
  /** What happened to the replicas, a line each. */
  readonly events: readonly string[]
}

/** How long it may take until there is a leader again, once nothing is wrong any more. */
export function recoveryBoundMs(leaseMs: number): number {
  return leaseMs + timingOf(leaseMs).requestTimeoutMs + 500
}

/** Starts fleets on which faults can strike, whose ends owe a dispose. */
export function startFleets(
  arena: Arena,
  { count, ...options }: Omit<FleetOptions, 'workMs' | 'restMs'> & { readonly count: number; readonly way: WayKind },
): Promise<readonly Fleet[]> {
  return allOf(Array.from({ length: count }, () => Fleet.start(arena, { ...options, workMs: 50, restMs: 100 })))
}

/** Strikes every fault so many times, each on one of the fleets that can have it: all fleets at once, one fault after another. */
export async function strikeFaults(
  arena: Arena,
  fleets: readonly Fleet[],
  { faults, times }: { readonly faults: readonly Fault[]; readonly times: number },
): Promise<readonly Trial[]> {
  const waiting = faults.flatMap((fault) => Array.from({ length: times }, () => fault))
  const trials: Trial[] = []
  const next = ({ options }: Fleet): Fault | undefined => {
    // First what only such a fleet can have: the rest is for everybody.
    const own = waiting.filter(({ way }) => way === options.way)
    const open = own.length > 0 ? own : waiting.filter(({ way }) => way === undefined)
    const fault = open[Math.floor(Math.random() * open.length)]
    if (fault !== undefined) waiting.splice(waiting.indexOf(fault), 1)
    return fault
  }
  await allOf(
    fleets.map(async (fleet) => {
      for (let fault = next(fleet); fault !== undefined; fault = next(fleet)) {
        trials.push(await strikeOne(arena, fleet, fault))
      }
    }),
  )
  return trials
}

/** Strikes every fault of the whole cluster until each fleet has had it so many times, as far as whole rounds go. */
export async function strikeCluster(
  { cluster }: Arena,
  fleets: readonly Fleet[],
  { times, only }: { readonly times: number; readonly only: string },
): Promise<readonly Trial[]> {
  const trials: Trial[] = []
  for (let round = 0; round < times; round += fleets.length) {
    for (const { name, strikeAndMend, delaysWrites = false } of CLUSTER_FAULTS.filter((fault) =>
      fault.name.includes(only),
    )) {
      await Promise.all(fleets.map((fleet) => fleet.untilWhole()))
      const since = fleets.map(({ observer }) => ({ version: observer.version, at: Date.now() }))
      await strikeAndMend(cluster)
      const judged = fleets.map(async (fleet, index) => {
        fleet.observer.countGaps()
        return judge(fleet, { fault: name, since: since[index], mayBeStale: delaysWrites })
      })
      trials.push(...(await Promise.all(judged)))
    }
  }
  return trials
}

async function strikeOne({ cluster }: Arena, fleet: Fleet, fault: Fault): Promise<Trial> {
  const { observer } = fleet
  const leader = await fleet.untilWhole()
  const since = { version: observer.version, at: Date.now() }
  const site = { cluster, fleet, leader, way: fleet.wayOf(leader) }
  observer.countGaps()
  await fault.strike(site)
  await sleep((fault.lasts ?? 1.5) * fleet.options.leaseMs)
  if (fault.mend !== undefined) {
    await fault.mend(site)
    observer.countGaps()
  }
  const trial = await judge(fleet, { fault: fault.name, since, mayBeStale: fault.editsLease })
  if (fault.spoilsLeader === true) {
    leader.signal('SIGKILL')
    await leader.exited
  }
  return trial
}

/** When a moment was, for the observer and for the replicas. */
interface Since {
  readonly version: bigint
  readonly at: number
}

async function judge(
  fleet: Fleet,
  {
    fault,
    since,
    mayBeStale = false,
  }: { readonly fault: string; readonly since: Since | undefined; readonly mayBeStale?: boolean | undefined },
): Promise<Trial> {
  const { observer } = fleet
  const { added } = observer
  await fleet
    .untilWorking(() => observer.added > added)
    .catch((cause: unknown) => Promise.reject(new Error(`After ${fault}`, { cause })))
  const { stale, overlaps } = observer.verdict(since?.version)
  const events = fleet.eventsSince(since?.at)
  return { fault, overlaps, stale: mayBeStale ? 0 : stale, recoveryMs: observer.longestGapMs, events }
}
