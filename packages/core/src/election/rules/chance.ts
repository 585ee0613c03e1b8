import { decidesItself, type ElectorConfig } from '../machine/config.ts'
import type { Following, PresentView, View } from '../machine/state.ts'
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
  const isNamed = isNamedIn(observation, config)
  if (!decidesItself(config) && !isNamed) return undefined
  if (observation.kind === 'absent') return chance(observation.since, memory.existed ? state.holdBackMs : 0)
  const { changedAt, lease } = observation
  if (lease.deleting) return undefined
  const { record } = lease
  const isTransferred = record.holderIdentity === identity && readTransferNonce(record) !== undefined
  if (isNamed || isTransferred || isOwn(memory, record)) return chance(changedAt, 0)
  const patience = { holdBackMs: state.holdBackMs, retryPeriodMs: timing.retryPeriodMs, revision }
  return chance(freeSince(state, observation), waitForStandbysMs(record, identity, patience))
}

/** Whether a coordinator has named this replica. It acquires such a lease at once, also when it looks expired: nobody else is tried. */
function isNamedIn(observation: View, { coordination, identity }: ElectorConfig): boolean {
  if (coordination !== 'server' || observation.kind !== 'present') return false
  return observation.lease.record.holderIdentity === identity
}

/** Whether this replica acquires the lease when it may: it does not stop, and is to lead. */
function competes({ leaveBy }: Following, { neverLeads }: ElectorConfig): boolean {
  return leaveBy === undefined && neverLeads !== true
}

/** When the lease becomes free: immediately if it has no holder or the holder is dead, otherwise when it expires. */
function freeSince({ memory }: Following, { lease, changedAt, guardedUntil }: PresentView): number {
  const { deadHolder } = memory
  if (deadHolder !== undefined && isTermOf(lease.record, deadHolder)) return deadHolder.since
  return Math.max(guardedUntil, lease.record.holderIdentity === '' ? changedAt : changedAt + durationMs(lease))
}
