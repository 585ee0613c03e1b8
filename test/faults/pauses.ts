import { setTimeout as sleep } from 'node:timers/promises'
import { allOf } from './all-of.ts'
import type { Arena } from './arena.ts'
import { BLACK_HOLE } from './catalogue.ts'
import { Fleet } from './fleet.ts'
import type { ReplicaProcess } from './replica-process.ts'
import type { Fences } from './replica-setup.ts'
import { ToxicWay } from './way.ts'

/** The result of pausing leaders. */
export interface PauseResult {
  readonly pauses: number
  /** Pauses after which an older term wrote over a newer one. */
  readonly leaking: number
  /** Additions of an older term after a newer term had added. */
  readonly overlaps: number
  /** Additions after a change of holder, but before the first write of the next term. */
  readonly early: number
  readonly added: number
  readonly lost: number
  readonly kills: number
  readonly partitions: number
}

/** The options of the disturbances. */
export interface PauseOptions {
  readonly fences: Fences
  readonly fleets: number
  readonly leaseMs: number
  /** How long a replica works on an addition, between reading and writing. */
  readonly workMs: number
  /** How long it rests between two additions. @default 1 */
  readonly restMs?: number
  /** The minimum number of pauses. */
  readonly pauses: number
  /** Continues until this share of the pauses has leaked, up to five times `pauses`. @default 0 */
  readonly leakingShare?: number
  /** The minimum number of additions. @default 0 */
  readonly additions?: number
  /** The maximum time before a leader is disturbed, in lease durations. @default 0.3 */
  readonly calm?: number
}

/**
 * Pauses the leaders of several fleets with SIGSTOP for 0.2 to 3 lease durations, at random moments. With `additions`, one of every seven
 * disturbances is a kill instead, and one a partition from the API server.
 */
export async function pauseLeaders(arena: Arena, options: PauseOptions): Promise<PauseResult> {
  const { fleets, pauses, additions = 0 } = options
  const share = { pauses: Math.ceil(pauses / fleets), additions: Math.ceil(additions / fleets) }
  const runs = Array.from({ length: fleets }, () => pauseOneFleet(arena, { ...options, ...share }))
  const results = await allOf(runs)
  const sum = (key: keyof PauseResult) => results.reduce((total, result) => total + result[key], 0)
  return {
    pauses: sum('pauses'),
    leaking: sum('leaking'),
    overlaps: sum('overlaps'),
    early: sum('early'),
    added: sum('added'),
    lost: sum('lost'),
    kills: sum('kills'),
    partitions: sum('partitions'),
  }
}

async function pauseOneFleet(arena: Arena, options: PauseOptions): Promise<PauseResult> {
  const { leaseMs, calm = 0.3, additions = 0 } = options
  const isRough = additions > 0
  const way = isRough ? 'toxiproxy' : 'direct'
  await using fleet = await Fleet.start(arena, { ...options, size: 2, makesWay: true, way })
  const { observer } = fleet
  const count = { pauses: 0, leaking: 0, kills: 0, partitions: 0 }
  for (let round = 1; !hasPausedEnough(count, options) || observer.added < additions; round++) {
    const leader = await fleet.untilWorking()
    await sleep(Math.random() * calm * leaseMs)
    if (fleet.leader !== leader) continue
    const ms = (0.2 + Math.random() * 2.8) * leaseMs
    const how = isRough ? (ROUGH_ROUNDS[round % 7] ?? 'pauses') : 'pauses'
    count[how] += 1
    if (await DISTURB[how](fleet, leader, ms)) count.leaking += 1
  }
  const { stale, overlaps, added, lost } = observer.verdict()
  return { ...count, overlaps, early: stale - overlaps, added, lost }
}

function hasPausedEnough(count: { readonly pauses: number; readonly leaking: number }, options: PauseOptions): boolean {
  const { pauses, leakingShare = 0 } = options
  if (count.pauses >= 5 * pauses) return true
  return count.pauses >= pauses && count.leaking >= leakingShare * count.pauses
}

type Disturbance = 'pauses' | 'kills' | 'partitions'

/** The rounds of every seven in which the leader is not paused. */
const ROUGH_ROUNDS: Readonly<Record<number, Disturbance>> = { 3: 'kills', 6: 'partitions' }

/** Disturbs a leader. Returns whether an older term wrote after a newer one. */
const DISTURB: Readonly<Record<Disturbance, (fleet: Fleet, leader: ReplicaProcess, ms: number) => Promise<boolean>>> = {
  async pauses({ observer }, leader, ms) {
    const since = observer.version
    await pause(leader, ms)
    return observer.verdict(since).overlaps > 0
  },
  async kills(_fleet, leader) {
    leader.signal('SIGKILL')
    await leader.exited
    return false
  },
  async partitions(fleet, leader, ms) {
    await partition(fleet, leader, ms)
    return false
  },
}

async function pause(replica: ReplicaProcess, ms: number): Promise<void> {
  replica.signal('SIGSTOP')
  await sleep(ms)
  replica.signal('SIGCONT')
  // Long enough to send and answer everything that was pending in the process.
  await sleep(150)
}

async function partition(fleet: Fleet, replica: ReplicaProcess, ms: number): Promise<void> {
  const way = fleet.wayOf(replica)
  if (!(way instanceof ToxicWay)) throw new Error('Expected a way that can be cut')
  await way.poison(BLACK_HOLE)
  await sleep(ms)
  await way.mend()
}
