import { setTimeout as sleep } from 'node:timers/promises'
import type { FencedCluster } from './fenced-cluster.ts'
import { Fleet } from './fleet.ts'
import type { Fences } from './replica-setup.ts'

/** What came of pausing leaders. */
export interface PauseResult {
  readonly pauses: number
  /** Pauses after which a stale write was accepted. */
  readonly leaking: number
  readonly stale: number
  readonly added: number
  readonly lost: number
}

/**
 * Stops the leaders of several fleets by SIGSTOP for 0.2 to 3 lease durations, at a random moment, and lets them go on. Every fifth
 * is killed instead, which counts as no pause but may lose additions all the same.
 */
export async function pauseLeaders(
  cluster: FencedCluster,
  options: {
    readonly fences: Fences
    readonly pauses: number
    readonly fleets: number
    readonly leaseMs: number
    readonly additions?: number
  },
): Promise<PauseResult> {
  const share = Math.ceil(options.pauses / options.fleets)
  const additions = Math.ceil((options.additions ?? 0) / options.fleets)
  const runs = Array.from({ length: options.fleets }, () =>
    pauseOneFleet(cluster, options, { pauses: share, additions }),
  )
  const results = await Promise.all(runs)
  const sum = (key: keyof PauseResult) => results.reduce((total, result) => total + result[key], 0)
  return { pauses: sum('pauses'), leaking: sum('leaking'), stale: sum('stale'), added: sum('added'), lost: sum('lost') }
}

async function pauseOneFleet(
  cluster: FencedCluster,
  { fences, leaseMs }: { readonly fences: Fences; readonly leaseMs: number },
  goal: { readonly pauses: number; readonly additions: number },
): Promise<PauseResult> {
  await using fleet = await Fleet.start(cluster, { fences, leaseMs })
  const { observer } = fleet
  let leaking = 0
  let pauses = 0
  for (let round = 1; pauses < goal.pauses || observer.added < goal.additions; round++) {
    const leader = await fleet.untilWorking()
    const since = observer.version
    await sleep(Math.random() * 0.3 * leaseMs)
    if (round % 5 === 0) {
      leader.signal('SIGKILL')
      await leader.exited
      await fleet.replenish()
      continue
    }
    leader.signal('SIGSTOP')
    await sleep((0.2 + Math.random() * 2.8) * leaseMs)
    leader.signal('SIGCONT')
    // Long enough for everything that waited in the process to be sent and answered.
    await sleep(150)
    pauses += 1
    if (observer.verdict(since).stale > 0) leaking += 1
    await fleet.replenish()
  }
  const { stale, added, lost } = observer.verdict()
  return { pauses, leaking, stale, added, lost }
}
