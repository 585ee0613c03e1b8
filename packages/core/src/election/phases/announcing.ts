import { jittered } from '../../jitter.ts'
import type { LockFailure } from '../../lock/lock-request-error.ts'
import type { PresentLease } from '../../lock/lock.ts'
import type { ElectorConfig, TransitionContext } from '../machine/config.ts'
import type { LeaseWrite } from '../machine/effect.ts'
import type { Instant, RequestFailure, WriteResult } from '../machine/event.ts'
import type { Announcement, AnnouncementReason, Following, Step } from '../machine/state.ts'
import { beforeRenewal } from '../rules/before-renewal.ts'
import { nextRequest } from '../rules/memory.ts'
import { pauseAfterFailureMs } from '../rules/retry-after.ts'
import { isWarm } from '../rules/ranking.ts'
import { isKeptByHolder, readStandbys } from '../rules/standby-note.ts'
import { asStandby, standsLast, urgency } from '../rules/standby.ts'
import { isTermOf, termOf } from '../rules/term-key.ts'
import { announcedRecord, isForgetful, isWithdrawn, listedLease } from './listing.ts'

/*
 * Announcing: a follower puts itself on the list of standbys, and takes itself off when it stops or is not ready.
 *
 * 1. Only while it belongs there and no replica passes the lease on: otherwise nothing is written.
 * 2. Once a term: a replica stays on the list until it leads, stops or misses its turn. If newer revisions displace it and leave again,
 *    as in a rollout that is undone, it joins again. It writes at most three times a term, and as often after each change of its readiness.
 *    Where replicas follow a strategy it goes on once a minute, so that the best one leads in the end.
 * 3. It changes the annotation only, so it prolongs nothing, and it does not matter whether it succeeds.
 * 4. Followers that start together spread over 0.75 s, as for a free lease: the first write is seen before most others are sent. Those
 *    that see another one join before them wait longer, since many may be about to write. The first replica of a new revision does not
 *    wait that long: the next stop of a leader is near. A replica that is better than the leader and all standbys, by the strategy
 *    that they follow, waits for milliseconds only.
 * 5. Releases of client-go before 1.34 fail if the lease has changed since its last renewal. So under a leader of another client
 *    a follower joins just before the next renewal, which it expects once it has seen two, and does not leave.
 * 6. A replica that never leads stays off the list, and leaves it if an earlier process of the same name is on it.
 * 7. A standby whose attributes change writes itself again, once a minute at most, and at once when its warm-ups become ready. A replica
 *    that stepped down by itself does not join before its cool-down is over: a leader that sees a better standby hands over to it.
 * 8. A replica that is about to be stopped does not join, and leaves unless it is the only standby. Then it says so on the list. So where
 *    all are about to be stopped, one of them still leads at once, but no leader ends its term for it, and none of them gets the lease
 *    back from the next leader.
 * 9. If a restored lease has a lower epoch, the replica writes the known epoch in the same way, without waiting, under any holder.
 */

/** How much longer than for a free lease followers hold back. */
const SPREAD = 10

/** A list that others fill at the same time has no room soon, and an API server that fails has more important writes to accept. */
const MAX_ATTEMPTS = 3

/** Failures of an API server that may be over after a retry period. */
const PASSING: readonly LockFailure[] = ['throttled', 'unreachable', 'unknown-outcome']

/** How long a replica that stops tries to leave the list. */
export const LEAVE_LIST_MS = 1000

/** A refused write is tried again after this long, when the watch has brought the news. */
const NEWS_MS = 50

/** How long replicas wait that are better than the leader and all standbys: several may start together. */
const BEST_SPREAD_MS = 10

/** Attributes may change all the time. */
const REFRESH_MS = 60_000

/** Takes in whether this replica belongs on the list of standbys. */
export function withRoomSeen(state: Following, at: Instant, config: ElectorConfig): Following {
  const { announcement, leaveBy } = state
  if (leaveBy !== undefined) return state
  const lease = listedLease(state, config)
  if (lease === undefined) {
    return announcement === undefined ? state : withDueAt(state, asItStands(announcement, state, config), undefined)
  }
  const pace = paceOf(state, lease, config)
  if (announcement === undefined || isOver(announcement, state, lease, config)) {
    return withDueAt(state, freshAnnouncement(state, lease, config), dueAt(state, lease, { at, config }, pace), pace)
  }
  const reason = reasonOf(state, lease, config)
  const isTimed =
    announcement.dueAt !== undefined && announcement.reason === reason && !followsRenewals(state, lease, config)
  if (isTimed) return slowedTo(pace, state, announcement, at)
  return withDueAt(state, { ...announcement, reason }, dueAt(state, lease, { at, config }, pace), pace)
}

/** Why this replica is to write itself on the list. */
function reasonOf(state: Following, { record }: PresentLease, config: ElectorConfig): AnnouncementReason {
  const { identity, revision, strategy } = config
  const listed = readStandbys(record).find((standby) => standby.identity === identity)
  if (strategy === undefined) {
    const isRestated = listed !== undefined && listed.revision === revision && !isWithdrawn(state, config)
    return isRestated ? 'refresh' : 'join'
  }
  if (listed !== undefined) return 'refresh'
  return urgency(record, asStandby(state.memory, config), strategy) === 'best' ? 'best' : 'join'
}

/** Once others have joined, what is left of the wait grows, so that the next write is seen before the one after it. */
function slowedTo(pace: number | undefined, state: Following, announcement: Announcement, { now }: Instant): Following {
  const { dueAt: due, pace: before } = announcement
  if (due === undefined || pace === undefined || before === undefined || pace <= before) return state
  return withDueAt(state, announcement, now + (Math.max(0, due - now) * pace) / before, pace)
}

/**
 * How many times longer than for a free lease this replica waits, by the standbys of its revision; undefined where it does not choose
 * its moment.
 */
function paceOf(state: Following, lease: PresentLease, config: ElectorConfig): number | undefined {
  if (config.announceAfterMs !== undefined || isWithdrawn(state, config) || isForgetful(state, lease)) return undefined
  const me = asStandby(state.memory, config)
  if (reasonOf(state, lease, config) !== 'join') return undefined
  if (urgency(lease.record, me, config.strategy) === 'newest') return 1
  return SPREAD * (1 + readStandbys(lease.record).filter(({ revision }) => revision === me.revision).length)
}

/** Whether an announcement was about an earlier term, or about the readiness of before. */
function isOver(
  announcement: Announcement,
  state: Following,
  { record }: PresentLease,
  config: ElectorConfig,
): boolean {
  return !isTermOf(record, announcement.term) || asItStands(announcement, state, config) !== announcement
}

/** The announcement, with no attempts yet if the readiness has changed since, even if that needs no write. */
function asItStands(announcement: Announcement, state: Following, config: ElectorConfig): Announcement {
  const isLeaving = isWithdrawn(state, config)
  const isCold = standsLast(config)
  const isOther = announcement.isLeaving !== isLeaving || announcement.isCold !== isCold
  return isOther ? { ...announcement, isLeaving, isCold, attempts: 0 } : announcement
}

function freshAnnouncement(state: Following, lease: PresentLease, config: ElectorConfig): Announcement {
  const { announcement } = state
  const { record } = lease
  // A write of this term that is in flight still counts.
  const request = isTermOf(record, announcement?.term) ? announcement?.request : undefined
  const isLeaving = isWithdrawn(state, config)
  const about = { isLeaving, isCold: standsLast(config), reason: reasonOf(state, lease, config) }
  return {
    term: termOf(record),
    ...about,
    attempts: 0,
    dueAt: undefined,
    request,
    sentAfter: undefined,
    pace: undefined,
  }
}

/** When this replica writes the list; undefined while the list is as it should be, or cannot be written. */
export function announcementDueAt(state: Following, config: ElectorConfig): number | undefined {
  const { announcement } = state
  if (announcement === undefined || announcement.request !== undefined) return undefined
  return listedLease(state, config) === undefined ? undefined : attemptAt(announcement, config)
}

/** When to try, after so many attempts. */
function attemptAt(announcement: Announcement, { strategy }: ElectorConfig): number | undefined {
  const { attempts, dueAt: due, sentAt = 0, isLeaving } = announcement
  if (attempts < MAX_ATTEMPTS) return due
  return isLeaving || strategy === undefined || due === undefined ? undefined : Math.max(due, sentAt + REFRESH_MS)
}

/** Writes the list with this replica in its place, or without it. */
export function announceIfDue(state: Following, at: Instant, config: ElectorConfig): Step {
  const due = announcementDueAt(state, config)
  const base = listedLease(state, config)
  const { announcement } = state
  if (due === undefined || at.now < due || base === undefined || announcement === undefined) {
    return { state, effects: [] }
  }
  const memory = nextRequest(state.memory)
  const write: LeaseWrite = { purpose: 'announce', base, record: announcedRecord(state, base, config) }
  const sentAfter = changedAt(state)
  const attempts = announcement.attempts + 1
  const sentAt = config.strategy === undefined ? {} : { sentAt: at.now }
  const sent: Announcement = { ...announcement, attempts, request: memory.requests, sentAfter, ...sentAt }
  return {
    state: { ...state, memory, announcement: sent },
    effects: [{ kind: 'write', request: memory.requests, write }],
  }
}

/** Takes in that the list was written, or was not. A lasting refusal is not worth another try in this term. */
export function announcementWritten(
  state: Following,
  result: WriteResult,
  at: Instant,
  config: ElectorConfig,
): Following {
  const { announcement, observation } = state
  if (announcement === undefined || observation.kind !== 'present') return state
  if (announcement.reason === 'refresh') {
    return { ...state, announcement: restated(announcement, result, at) }
  }
  const isRefused = result.kind === 'failed' && !isWorthRetry(state, result)
  const attempts = isRefused ? MAX_ATTEMPTS : announcement.attempts
  const due = nextTry(state, observation.lease, result, { at, config })
  return { ...state, announcement: { ...announcement, attempts, dueAt: due, request: undefined, pace: undefined } }
}

/** After this replica has written itself on the list again, or was refused. */
function restated(announcement: Announcement, result: WriteResult, { now }: Instant): Announcement {
  const { attempts } = announcement
  const isOutrun = result.kind === 'failed' && result.failure === 'conflict' && attempts < MAX_ATTEMPTS
  if (isOutrun) return { ...announcement, dueAt: now + NEWS_MS, request: undefined }
  const retryAt = result.kind === 'failed' ? now + REFRESH_MS : undefined
  return { ...announcement, attempts: 0, dueAt: retryAt, request: undefined }
}

/** Whether a failed write may succeed soon. A replica that stops does not wait for an API server that fails. */
function isWorthRetry({ leaveBy }: Following, { failure }: RequestFailure): boolean {
  return failure === 'conflict' || (leaveBy === undefined && PASSING.includes(failure))
}

/**
 * Whether this replica is still to join the list: a write is in flight, or another attempt is planned. Under a leader of another client
 * this is never so: that leader may renew seldom or never.
 */
export function isJoining({ announcement, leaveBy, observation, memory }: Following): boolean {
  if (announcement === undefined || announcement.isLeaving || leaveBy !== undefined) return false
  if (observation.kind === 'present' && !isKeptByHolder(observation.lease.record)) return false
  const { attempts, dueAt, request, reason } = announcement
  if (reason === 'refresh' || memory.restsUntil !== undefined) return false
  return request !== undefined || (attempts < MAX_ATTEMPTS && dueAt !== undefined)
}

/** Plans to take this replica off the list, if it is or comes to be on it, and to stop by `leaveBy`. */
export function leaveList(state: Following, at: Instant, leaveBy: number): Following {
  const { observation, announcement } = state
  if (observation.kind !== 'present') return { ...state, leaveBy }
  const term = termOf(observation.lease.record)
  const { request, sentAfter } = announcement ?? {}
  const leaving: Announcement = {
    term,
    isLeaving: true,
    attempts: 1,
    dueAt: at.now,
    request,
    sentAfter,
    pace: undefined,
  }
  return { ...state, leaveBy, announcement: leaving }
}

/** Whether a replica that stops has yet to leave the list. */
export function isLeavingList(state: Following, config: ElectorConfig): boolean {
  return state.announcement?.request !== undefined || announcementDueAt(state, config) !== undefined
}

function withDueAt(state: Following, announcement: Announcement, due: number | undefined, pace?: number): Following {
  return { ...state, announcement: { ...announcement, dueAt: due, pace } }
}

/** When to write again. A write of before the stop may have put a replica that stops on the list a moment ago. */
function nextTry(
  state: Following,
  lease: PresentLease,
  result: WriteResult,
  { at, config }: TransitionContext,
): number | undefined {
  const isConflict = result.kind === 'failed' && result.failure === 'conflict'
  if (isConflict && (isWithdrawn(state, config) || state.announcement?.reason === 'best')) return at.now + NEWS_MS
  if (state.leaveBy !== undefined) return at.now
  if (result.kind === 'written' || isConflict) return dueAt(state, lease, { at, config }, SPREAD)
  const { timing } = config
  return at.now + pauseAfterFailureMs(result.retryAfterMs, jittered(timing.retryPeriodMs, at.random), timing)
}

/** When to write: two replicas that start together seldom choose the same moment. Those that see others join wait longer later on. */
function dueAt(
  state: Following,
  lease: PresentLease,
  { at, config }: TransitionContext,
  pace = SPREAD,
): number | undefined {
  if (isForgetful(state, lease)) return at.now + state.holdBackMs
  if (isWithdrawn(state, config)) return at.now
  if (config.announceAfterMs === Infinity) return undefined
  if (config.announceAfterMs !== undefined) return at.now + config.announceAfterMs
  if (followsRenewals(state, lease, config)) return beforeRenewal(state, at)
  const { restsUntil = at.now } = state.memory
  const joinAt = promptlyAt(state, lease, at, config) ?? at.now + state.holdBackMs * Math.min(SPREAD, pace)
  return Math.max(restsUntil, joinAt)
}

/** When a replica writes that is better than the leader and all standbys, or that the list names; undefined for others. */
function promptlyAt(state: Following, lease: PresentLease, at: Instant, config: ElectorConfig): number | undefined {
  const reason = reasonOf(state, lease, config)
  if (reason === 'join') return undefined
  if (reason === 'best') return at.now + BEST_SPREAD_MS * at.random
  const listed = readStandbys(lease.record).find(({ identity }) => identity === config.identity)
  const isNews = (listed === undefined || isWarm(listed)) === standsLast(config)
  return isNews ? at.now : Math.max(at.now, (state.announcement?.sentAt ?? -Infinity) + REFRESH_MS)
}

/** Whether the moment depends on when the holder renews: it keeps no list, so it does not know of writes by others. */
function followsRenewals(state: Following, lease: PresentLease, { announceAfterMs }: ElectorConfig): boolean {
  return announceAfterMs === undefined && !isKeptByHolder(lease.record) && !isForgetful(state, lease)
}

function changedAt({ observation }: Following): number | undefined {
  return observation.kind === 'present' ? observation.changedAt : undefined
}
