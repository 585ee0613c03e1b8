import { setTimeout as sleep } from 'node:timers/promises'
import { allOf } from './all-of.ts'
import type { Arena } from './arena.ts'
import { BLACK_HOLE } from './catalogue.ts'
import { Fleet } from './fleet.ts'
import type { ReplicaProcess } from './replica-process.ts'
import type { Fences } from './replica-setup.ts'
import { ToxicWay } from './way.ts'

/** What came of pausing leaders. */
export interface PauseResult {
  readonly pauses: number
  /** Pauses after which an older term wrote over a newer one. */
  readonly leaking: number
  /** Additions of an older term over those of a newer one. */
  readonly overlaps: number
  /** Additions after the lease had changed hands, but before the next term had written. */
  readonly early: number
  readonly added: number
  readonly lost: number
  readonly kills: number
  readonly partitions: number
}

/** How leaders are disturbed. */
export interface PauseOptions {
  readonly fences: Fences
  readonly fleets: number
  readonly leaseMs: number
  /** How long a replica works on an addition, between reading and writing. */
  readonly workMs: number
  /** How long it rests between two additions. @default 1 */
  readonly restMs?: number
  /** Goes on until there were so many pauses… */
  readonly pauses: number
  /** … this share of them has leaked, or there were five times as many: a few may be a chance… @default 0 */
  readonly leakingShare?: number
  /** … and so many additions. @default 0 */
  readonly additions?: number
  /** For how long a leader is left alone at most before it is disturbed, in lease durations. @default 0.3 */
  readonly calm?: number
}

/**
 * Stops the leaders of several fleets by SIGSTOP for 0.2 to 3 lease durations, at a random moment, and lets them go on. Where
 * additions are asked for, of every seven times the leader is once killed instead and once cut off from the API server.
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

/** Disturbs a leader; says whether an older term wrote over a newer one after a pause. */
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
  // Long enough for everything that waited in the process to be sent and answered.
  await sleep(150)
}

async function partition(fleet: Fleet, replica: ReplicaProcess, ms: number): Promise<void> {
  const way = fleet.wayOf(replica)
  if (!(way instanceof ToxicWay)) throw new Error('Expected a way that can be cut')
  await way.poison(BLACK_HOLE)
  await sleep(ms)
  await way.mend()
}
