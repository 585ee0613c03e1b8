import { setTimeout as sleep } from 'node:timers/promises'
import type { FencedCluster } from './fenced-cluster.ts'
import { Fleet } from './fleet.ts'
import type { Fences } from './replica-setup.ts'

/** What came of blocking event loops. */
export interface StallResult {
  /** For each process that died of it: how long after its deadline it last ran, in milliseconds. */
  readonly deathsMs: readonly number[]
  /** The same until the parent process saw that it had ended. */
  readonly exitsMs: readonly number[]
  /** Processes that outlived their deadline by more than a second. */
  readonly survivors: number
  readonly stale: number
}

/** Blocks the event loops of leaders for 1 to 5 lease durations. */
export async function blockLeaders(
  cluster: FencedCluster,
  options: { readonly fences: Fences; readonly stalls: number; readonly fleets: number; readonly leaseMs: number },
): Promise<StallResult> {
  const share = Math.ceil(options.stalls / options.fleets)
  const runs = Array.from({ length: options.fleets }, () => blockOneFleet(cluster, options, share))
  const results = await Promise.all(runs)
  return {
    deathsMs: results.flatMap(({ deathsMs }) => deathsMs),
    exitsMs: results.flatMap(({ exitsMs }) => exitsMs),
    survivors: results.reduce((total, { survivors }) => total + survivors, 0),
    stale: results.reduce((total, { stale }) => total + stale, 0),
  }
}

async function blockOneFleet(
  cluster: FencedCluster,
  { fences, leaseMs }: { readonly fences: Fences; readonly leaseMs: number },
  stalls: number,
): Promise<StallResult> {
  // One more than needed to lead: the next leader is there while the dead one is replaced.
  await using fleet = await Fleet.start(cluster, { fences, leaseMs, size: 3, everyMs: 40 })
  const deathsMs: number[] = []
  const exitsMs: number[] = []
  let survivors = 0
  while (deathsMs.length + survivors < stalls) {
    const leader = await fleet.untilWorking()
    await sleep(Math.random() * 0.3 * leaseMs)
    if (fleet.leader !== leader) continue
    leader.tell({ kind: 'block', ms: (1 + Math.random() * 4) * leaseMs })
    const { deadline } = await leader.report('blocking')
    const exit = await Promise.race([leader.exited, sleep(leaseMs + 1000)])
    if (exit === undefined) {
      survivors += 1
      leader.signal('SIGKILL')
      await leader.exited
    } else {
      const lateMs = (at: bigint) => Math.max(0, Number(at - BigInt(deadline)) / 1e6)
      deathsMs.push(lateMs(await leader.lastRan()))
      exitsMs.push(lateMs(exit.at))
    }
    await fleet.replenish()
  }
  return { deathsMs, exitsMs, survivors, stale: fleet.observer.verdict().stale }
}
