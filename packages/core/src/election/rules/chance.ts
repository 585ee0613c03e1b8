import type { LeaseRecord } from '../../lock/lease-record.ts'
import { decidesItself, type ElectorConfig } from '../machine/config.ts'
import type { Following, PresentView } from '../machine/state.ts'
import { isOwn } from './memory.ts'
import { durationMs } from './observation.ts'
import { waitForStandbysMs } from './standby.ts'
import { isTermOf } from './term-key.ts'
import { readTransferNonce } from './transfer-notes.ts'

/** When the lease becomes free, as far as this replica has seen, and when to acquire it. */
export interface Chance {
  readonly freeSince: number
  readonly takeAt: number
}

/** The next chance to acquire the lease; undefined if only a change can bring one. */
export function nextChance(state: Following, config: ElectorConfig): Chance | undefined {
  const { identity, timing, revision } = config
  const { observation, memory, notBefore } = state
  if (!competes(state, config) || observation.kind === 'unknown' || observation.kind === 'outdated') return undefined
  const chance = (freeSince: number, holdBackMs: number): Chance => ({
    freeSince,
    takeAt: Math.max(freeSince + holdBackMs, notBefore),
  })
  if (observation.kind === 'absent') return chance(observation.since, memory.existed ? state.holdBackMs : 0)
  const { changedAt, lease } = observation
  if (lease.deleting) return undefined
  const { record } = lease
  if (isFor(identity, record, config) || isOwn(memory, record)) return chance(changedAt, 0)
  const patience = { holdBackMs: state.holdBackMs, retryPeriodMs: timing.retryPeriodMs, revision }
  return chance(freeSince(state, observation), waitForStandbysMs(record, identity, patience))
}

/** Whether the lease was transferred to this replica, or a coordinator has named it. */
function isFor(identity: string, record: LeaseRecord, config: ElectorConfig): boolean {
  const isOurs = record.holderIdentity === identity
  return isOurs && (!decidesItself(config) || readTransferNonce(record) !== undefined)
}

/**
 * Whether this replica acquires the lease when it may: it does not stop, and is to lead. Where a coordinator decides, it must be named. It then
 * acquires also a lease that looks expired: the coordinator tries nobody else.
 */
function competes({ leaveBy, observation }: Following, config: ElectorConfig): boolean {
  if (leaveBy !== undefined || config.neverLeads === true) return false
  if (decidesItself(config)) return true
  const isNamed = observation.kind === 'present' && observation.lease.record.holderIdentity === config.identity
  return isNamed && config.coordination === 'server'
}

/** When the lease becomes free: immediately if it has no holder or the holder is dead, otherwise when it expires. */
function freeSince({ memory }: Following, { lease, changedAt, guardedUntil }: PresentView): number {
  const { deadHolder } = memory
  if (deadHolder !== undefined && isTermOf(lease.record, deadHolder)) return deadHolder.since
  return Math.max(guardedUntil, lease.record.holderIdentity === '' ? changedAt : changedAt + durationMs(lease))
}
