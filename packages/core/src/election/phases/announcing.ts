import { type LeaseRecord, withLeastEpoch } from '../../lock/lease-record.ts'
import { type PresentLease, epochOf } from '../../lock/lock.ts'
import type { ElectorConfig } from '../machine/config.ts'
import type { LeaseWrite } from '../machine/effect.ts'
import type { Instant, WriteResult } from '../machine/event.ts'
import type { Announcement, Following, Step } from '../machine/state.ts'
import { nextRequest } from '../rules/memory.ts'
import { hasRoomFor, withStandby } from '../rules/standby.ts'
import { isTermOf, termOf } from '../rules/term-key.ts'
import { readOffer, readTransferNonce } from '../rules/transfer-notes.ts'

/*
 * Announcing: a follower puts itself on the list of standbys, so that the next handover does not have to hold back for it.
 *
 * 1. Only on a list that the present leader keeps, while it has room and nobody passes the lease on: otherwise nothing is written.
 * 2. Once: a replica stays on the list until it leads, or misses its turn.
 * 3. It changes the annotation only, so it prolongs nothing, and it is no matter whether it succeeds.
 * 4. If a restored lease has a lower epoch, the replica writes the known epoch in the same way, without waiting, under any holder.
 */

/** Who has followed one term for so long is likely to be there when it ends; who comes and goes writes nothing. */
const LASTING_MS = 30_000

/** A list that others fill at the same time has no room soon. */
const MAX_ATTEMPTS = 3

/** Takes in whether there is room for this replica on the list of standbys. */
export function withRoomSeen(state: Following, at: Instant, config: ElectorConfig): Following {
  const lease = listedLease(state, config.identity)
  if (lease === undefined || isTermOf(lease.record, state.announcement?.term)) return state
  const due = dueAt(state, lease, at, config)
  return {
    ...state,
    announcement: { term: termOf(lease.record), attempts: 0, dueAt: due, request: undefined },
  }
}

/** When this replica puts itself on the list; undefined while it is on it, or cannot be. */
export function announcementDueAt(state: Following, { identity }: ElectorConfig): number | undefined {
  const { announcement } = state
  if (announcement === undefined || announcement.request !== undefined) return undefined
  if (announcement.attempts >= MAX_ATTEMPTS) return undefined
  return isTermOf(listedLease(state, identity)?.record, announcement.term) ? announcement.dueAt : undefined
}

/** Writes the list with this replica at its end. */
export function announceIfDue(state: Following, at: Instant, config: ElectorConfig): Step {
  const due = announcementDueAt(state, config)
  const base = listedLease(state, config.identity)
  const { announcement } = state
  if (due === undefined || at.now < due || base === undefined || announcement === undefined) {
    return { state, effects: [] }
  }
  const memory = nextRequest(state.memory)
  const listed = isListable(base.record, config.identity) ? withStandby(base.record, config.identity) : base.record
  const record = isForgetful(state, base) ? withLeastEpoch(listed, state.memory.highestEpoch) : listed
  const write: LeaseWrite = { purpose: 'announce', base, record }
  const sent: Announcement = { ...announcement, attempts: announcement.attempts + 1, request: memory.requests }
  return {
    state: { ...state, memory, announcement: sent },
    effects: [{ kind: 'write', request: memory.requests, write }],
  }
}

/** Takes in that the list was written, or was not; only a conflict is worth another try in this term. */
export function announcementWritten(
  state: Following,
  result: WriteResult,
  at: Instant,
  config: ElectorConfig,
): Following {
  const { announcement, observation } = state
  if (announcement === undefined || observation.kind !== 'present') return state
  const isOver = result.kind === 'written' || result.failure !== 'conflict'
  const attempts = isOver ? MAX_ATTEMPTS : announcement.attempts
  const due = dueAt(state, observation.lease, at, config)
  return { ...state, announcement: { ...announcement, attempts, dueAt: due, request: undefined } }
}

/** Up to as much later again: a process that follows many leases would disturb who renews them if it wrote to all at once. */
function dueAt(state: Following, lease: PresentLease, at: Instant, { timing, announceAfterMs }: ElectorConfig): number {
  if (isForgetful(state, lease)) return at.now + state.holdBackMs
  return at.now + (1 + at.random) * (announceAfterMs ?? Math.max(LASTING_MS, 2 * timing.leaseDurationMs))
}

/** The lease as it is, where this replica may put itself on its list. */
function listedLease(state: Following, identity: string): PresentLease | undefined {
  const { observation, leaveBy } = state
  if (observation.kind !== 'present' || leaveBy !== undefined) return undefined
  const { lease } = observation
  if (lease.deleting) return undefined
  return isListable(lease.record, identity) || isForgetful(state, lease) ? lease : undefined
}

function isListable(record: LeaseRecord, identity: string): boolean {
  if (record.holderIdentity === '' || record.holderIdentity === identity) return false
  const isPassedOn = readOffer(record) !== undefined || readTransferNonce(record) !== undefined
  return !isPassedOn && hasRoomFor(record, identity)
}

/** Whether the lease has forgotten an epoch that this replica knows of, as after a restore of its store: its terms would go back. */
function isForgetful({ memory }: Following, lease: PresentLease): boolean {
  return memory.highestEpoch > epochOf(lease)
}
