import type { ElectorConfig } from './config.ts'
import type { LeaseWrite } from './effect.ts'
import type { Instant, WriteResult } from './event.ts'
import { isTermOf, termOf } from './answering.ts'
import { nextRequest } from './hold.ts'
import { hasRoomFor, withStandby } from './standby.ts'
import type { Announcement, Following, Step } from './state.ts'
import { readOffer, readTransferNonce } from './transfer-notes.ts'

/*
 * Announcing: a follower puts itself on the list of standbys, so that the next handover does not have to hold back for it.
 *
 * 1. Only on a list that the present leader keeps, while it has room and nobody passes the lease on: otherwise nothing is written.
 * 2. Once: whoever is on the list stays on it until it leads, or lets a lease go that it should have taken.
 * 3. It changes the annotation only, so it prolongs nothing, and it is no matter whether it succeeds.
 */

/** Who has followed one term for so long is likely to be there when it ends; who comes and goes writes nothing. */
const LASTING_MS = 30_000

/** A list that others fill at the same time has no room soon. */
const MAX_ATTEMPTS = 3

/** Takes in whether there is room for this replica on the list of standbys. */
export function withRoomSeen(state: Following, at: Instant, config: ElectorConfig): Following {
  const lease = listedLease(state, config.identity)
  if (lease === undefined || isTermOf(lease.record, state.announcement?.term)) return state
  return {
    ...state,
    announcement: { term: termOf(lease.record), attempts: 0, dueAt: dueAt(at, config), request: undefined },
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
  const write: LeaseWrite = { purpose: 'announce', base, record: withStandby(base.record, config.identity) }
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
  const { announcement } = state
  if (announcement === undefined) return state
  const isOver = result.kind === 'written' || result.failure !== 'conflict'
  const attempts = isOver ? MAX_ATTEMPTS : announcement.attempts
  return { ...state, announcement: { ...announcement, attempts, dueAt: dueAt(at, config), request: undefined } }
}

/** Up to as much later again: a process that follows many leases would disturb who renews them if it wrote to all at once. */
function dueAt(at: Instant, { timing, announceAfterMs }: ElectorConfig): number {
  return at.now + (1 + at.random) * (announceAfterMs ?? Math.max(LASTING_MS, 2 * timing.leaseDurationMs))
}

/** The lease as it is, where this replica may put itself on its list. */
function listedLease({ observation, leaveBy }: Following, identity: string) {
  if (observation.kind !== 'present' || leaveBy !== undefined) return undefined
  const { lease } = observation
  const { record, deleting } = lease
  if (deleting || record.holderIdentity === '' || record.holderIdentity === identity) return undefined
  const isPassedOn = readOffer(record) !== undefined || readTransferNonce(record) !== undefined
  return !isPassedOn && hasRoomFor(record, identity) ? lease : undefined
}
