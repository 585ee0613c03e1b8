import type { ElectorState } from '../../src/election/machine/state.ts'
import { isSameRecord } from '../../src/election/rules/records.ts'
import { validityMs } from '../../src/election/timing-options.ts'
import type { LockSnapshot } from '../../src/lock/lock.ts'
import { CLOCK_AT_START, type Replica, type Request, type Scope, TICK_MS, TIMING, type World } from './world.ts'

/*
 * A store that returns to an earlier state, like etcd after a restore from a backup. It counts versions from there, so it uses them
 * again. Each stored lease carries its era in `native`: the number of restores before the write.
 *
 * What holds across a restore:
 * 1. S3, S5 and L1, without exception.
 * 2. S1 and S6 among the terms of one era.
 * 3. A term of an earlier era overlaps a later one only for as long as writes from before the restore entitle it to act.
 * 4. S4 as well. It and 2 and 3 hold until the store accepts a write from before the restore, or one whose version it uses again with
 *    another record. From then on the eras are mixed.
 * 5. Where every replica knows the term in force when the store goes back, all rules hold.
 */

const BACKUPS = 2

/** The world after a write, with the state before it among the backups while a restore is still possible. */
export function withBackup(world: World, before: LockSnapshot, { canRestore }: Scope): World {
  if (canRestore === undefined) return world
  const { restores } = world
  const backups = world.faultsLeft === 0 ? [] : [...restores.backups, before].slice(-BACKUPS)
  return { ...world, restores: { ...restores, backups } }
}

/** The world just after its store returned to `backup`. No watch has reported it yet. */
export function wentBack(world: World, backup: LockSnapshot): World {
  const { restores, tick } = world
  const era = { backups: [], era: restores.era + 1, sinceTick: tick }
  const requests = world.requests.map((request) => ({ ...request, isOld: true }))
  return { ...world, requests, restores: { ...restores, ...era }, version: (backup.version ?? 0n) - 1n }
}

/** The world after an accepted write. A write from before the restore mixes the eras, and so does a write on a version used again. */
export function withMixNoted(world: World, { isOld, write }: Request): World {
  const { lease, restores } = world
  const base = write?.base
  const isReused = base !== undefined && lease.kind === 'present' && !isSameRecord(base.record, lease.record)
  if (!isOld && !isReused) return world
  return { ...world, restores: { ...restores, isMixed: true } }
}

/** The era in which the lease of a term was acquired. */
export function eraOf(state: ElectorState): number {
  return 'hold' in state ? Number(state.hold.lease.native ?? 0) : 0
}

/** Whether a term of this era may begin with an epoch that is not above that of the last term. */
export function excusesEpoch({ restores }: World, era: number, { canRestore }: Scope): boolean {
  return canRestore === 'any' && (restores.isMixed || era !== restores.lastEra)
}

/** Whether these replicas may be at work at the same time. */
export function excusesOverlap(world: World, working: readonly Replica[], { canRestore }: Scope): boolean {
  if (canRestore !== 'any') return false
  const { isMixed, era, sinceTick } = world.restores
  if (isMixed) return true
  const younger = working.filter((replica) => replica.era === era)
  const older = working.filter((replica) => replica.era < era)
  const grace = ({ validUntil, rate }: Replica) => validUntil - CLOCK_AT_START - sinceTick * TICK_MS * rate
  return younger.length <= 1 && older.length <= 1 && older.every((replica) => grace(replica) <= validityMs(TIMING))
}
