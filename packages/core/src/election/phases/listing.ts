import { type LeaseRecord, withLeastEpoch } from '../../lock/lease-record.ts'
import { type PresentLease, epochOf } from '../../lock/lock.ts'
import { decidesItself, type ElectorConfig } from '../machine/config.ts'
import type { Following, Memory } from '../machine/state.ts'
import { isKeptByHolder, readStandbys } from '../rules/standby-note.ts'
import { asStandby, hasRoomFor, isStandbyOf, withStandby, withoutStandby } from '../rules/standby.ts'
import { readOffer, readTransferNonce } from '../rules/transfer-notes.ts'

/* Whether a follower belongs on the list of standbys, and the list as it should be. */

/** The record with this replica in its place on the list, or without it. */
export function announcedRecord(state: Following, base: PresentLease, config: ElectorConfig): LeaseRecord {
  const { record } = base
  const listed = isWithdrawn(state, config) ? withoutMe(base, config) : withMe(state, record, config)
  return isForgetful(state, base) ? withLeastEpoch(listed, state.memory.highestEpoch) : listed
}

function withMe({ memory }: Following, record: LeaseRecord, config: ElectorConfig): LeaseRecord {
  const me = asStandby(memory, config)
  return isListable(record, memory, config) ? withStandby(record, me, config.strategy) : record
}

function withoutMe(base: PresentLease, config: ElectorConfig): LeaseRecord {
  return isOnList(base, config) ? withoutStandby(base.record, config.identity) : base.record
}

/** Whether this replica is to be off the list: it stops, is not ready, never leads, or is about to be stopped. */
export function isWithdrawn(state: Following, config: ElectorConfig): boolean {
  const { isUnready, neverLeads, departure } = config
  if (state.leaveBy !== undefined || isUnready === true || neverLeads === true) return true
  return departure !== undefined && !isOnlyStandby(state, config)
}

function isOnlyStandby({ observation }: Following, { identity }: ElectorConfig): boolean {
  const standbys = observation.kind === 'present' ? readStandbys(observation.lease.record) : []
  return standbys.length === 1 && standbys[0]?.identity === identity
}

/** The lease as it is, where this replica may write its list. */
export function listedLease(state: Following, config: ElectorConfig): PresentLease | undefined {
  const { observation } = state
  if (observation.kind !== 'present' || observation.lease.deleting || !decidesItself(config)) return undefined
  const { lease } = observation
  const isDifferent = isWithdrawn(state, config)
    ? isOnList(lease, config)
    : isListable(lease.record, state.memory, config)
  return isDifferent || (state.leaveBy === undefined && isForgetful(state, lease)) ? lease : undefined
}

/**
 * Whether this replica is on the list of a leader that keeps it. Nothing is written to a free lease: that would delay those that acquire
 * it. Nothing is written under another client either: there is seldom a renewal soon enough, and the list costs its successor one slot.
 */
function isOnList({ record }: PresentLease, { identity }: ElectorConfig): boolean {
  return record.holderIdentity !== '' && isKeptByHolder(record) && isStandbyOf(record, identity)
}

function isListable(record: LeaseRecord, memory: Memory, config: ElectorConfig): boolean {
  const me = asStandby(memory, config)
  if (record.holderIdentity === '' || record.holderIdentity === me.identity) return false
  const isPassedOn = readOffer(record) !== undefined || readTransferNonce(record) !== undefined
  return !isPassedOn && hasRoomFor(record, me, config.strategy)
}

/** Whether the lease has forgotten an epoch that this replica knows of, as after a restore of its store: its terms would go back. */
export function isForgetful({ memory }: Following, lease: PresentLease): boolean {
  return memory.highestEpoch > epochOf(lease)
}
