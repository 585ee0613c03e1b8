import type { LeaseRecord } from '../../lock/lease-record.ts'
import { decidesItself, type ElectorConfig } from '../machine/config.ts'
import type { Following, Memory, Observation, PresentView, View } from '../machine/state.ts'
import { isOwn, isOwnTerm } from './memory.ts'
import { durationMs } from './view.ts'
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
  if (!competes(state, config) || !isCurrent(observation)) return undefined
  const chance = (freeSince: number, holdBackMs: number): Chance => ({
    freeSince,
    takeAt: Math.max(freeSince + holdBackMs, notBefore),
  })
  if (observation.kind === 'absent') return chance(observation.since, memory.existed ? state.holdBackMs : 0)
  const { changedAt, lease } = observation
  if (lease.deleting) return undefined
  const { record } = lease
  if (isFor(identity, record, config) || isOwn(memory, record)) return chance(changedAt, 0)
  const since = freeSince(state, observation, config)
  if (since === undefined) return undefined
  const patience = { holdBackMs: state.holdBackMs, retryPeriodMs: timing.retryPeriodMs, revision }
  return chance(since, waitForStandbysMs(record, identity, patience))
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

/**
 * Whether a holder keeps this lease for life: nothing has proved its death. A transferred lease expires until its new holder has renewed
 * it: a successor that died before that left no process to watch.
 */
export function isHeldForLife({ deadHolder }: Memory, record: LeaseRecord): boolean {
  const isTransferred = readTransferNonce(record) !== undefined
  return record.holderIdentity !== '' && !isTransferred && !isTermOf(record, deadHolder)
}

function isCurrent(observation: Observation): observation is View {
  return observation.kind !== 'unknown' && observation.kind !== 'outdated'
}

/**
 * When the lease becomes free: immediately if it has no holder or the holder is dead, otherwise when it expires. Undefined if another
 * replica holds it for life.
 */
function freeSince({ memory }: Following, view: PresentView, config: ElectorConfig): number | undefined {
  const { lease, changedAt, guardedUntil } = view
  const { record } = lease
  const { deadHolder } = memory
  if (deadHolder !== undefined && isTermOf(record, deadHolder)) return deadHolder.since
  if (config.heldForLife === true && isHeldForLife(memory, record)) {
    if (isOwnTerm(memory, record)) return changedAt
    if (record.holderIdentity !== config.identity) return undefined
  }
  return Math.max(guardedUntil, record.holderIdentity === '' ? changedAt : changedAt + durationMs(lease))
}
