import { setTimeout as sleep } from 'node:timers/promises'
import { allOf } from './all-of.ts'
import type { Arena } from './arena.ts'
import { Fleet } from './fleet.ts'
import type { Fences } from './replica-setup.ts'

/** The result of blocking event loops. */
export interface StallResult {
  /** For each process that was killed: how long after its deadline it last ran, in milliseconds. */
  readonly deathsMs: readonly number[]
  /** The time from the deadline until the parent process saw its end, in milliseconds. */
  readonly exitsMs: readonly number[]
  /** Processes that outlived their deadline by more than a second. */
  readonly survivors: number
  readonly stale: number
}

/** Blocks the event loops of leaders for 1 to 5 lease durations. */
export async function blockLeaders(
  arena: Arena,
  options: { readonly fences: Fences; readonly stalls: number; readonly fleets: number; readonly leaseMs: number },
): Promise<StallResult> {
  const share = Math.ceil(options.stalls / options.fleets)
  const runs = Array.from({ length: options.fleets }, () => blockOneFleet(arena, options, share))
  const results = await allOf(runs)
  return {
    deathsMs: results.flatMap(({ deathsMs }) => deathsMs),
    exitsMs: results.flatMap(({ exitsMs }) => exitsMs),
    survivors: results.reduce((total, { survivors }) => total + survivors, 0),
    stale: results.reduce((total, { stale }) => total + stale, 0),
  }
}

async function blockOneFleet(
  arena: Arena,
  { fences, leaseMs }: { readonly fences: Fences; readonly leaseMs: number },
  stalls: number,
): Promise<StallResult> {
  // One replica more than needed, so that there is a next leader while the ended process is replaced.
  await using fleet = await Fleet.start(arena, { fences, leaseMs, size: 3, workMs: 50, restMs: 100 })
  const deathsMs: number[] = []
  const exitsMs: number[] = []
  let survivors = 0
  while (deathsMs.length + survivors < stalls) {
    const leader = await fleet.untilWorking()
    await sleep(Math.random() * 0.3 * leaseMs)
    if (fleet.leader !== leader) continue
    const deadline = await leader.block((1 + Math.random() * 4) * leaseMs)
    if (deadline === undefined) continue
    const exit = await Promise.race([leader.exited, sleep(leaseMs + 1000)])
    if (exit === undefined) {
      survivors += 1
      leader.signal('SIGKILL')
      await leader.exited
    } else {
      const lateMs = (at: bigint) => Math.max(0, Number(at - deadline) / 1e6)
      deathsMs.push(lateMs(await leader.lastRan()))
      exitsMs.push(lateMs(exit.at))
    }
  }
  return { deathsMs, exitsMs, survivors, stale: fleet.observer.verdict().stale }
}
