import type { LeaseRecord } from '../../lock/lease-record.ts'
import { epochOf, type LeaseHolder, type LockSnapshot, type PresentLease } from '../../lock/lock.ts'
import { type ElectorConfig, withoutProcessRef } from '../machine/config.ts'
import type { ElectorEffect, LeaseWrite } from '../machine/effect.ts'
import type { Instant, ReadResult } from '../machine/event.ts'
import { announceIfDue, announcementDueAt, withRoomSeen } from './announcing.ts'
import { answerDueAt, answerIfDue, isAnswerPending, isTermOf, termOf, withOfferSeen } from './answering.ts'
import { holdBackMs } from '../rules/hold-back.ts'
import { nextRequest } from './hold.ts'
import { inherit, inheritanceOf } from './inheriting.ts'
import { acquireRecord, isSameRecord, isWrittenAs, statedMs, withGreaterEpoch } from '../rules/records.ts'
import { pauseAfterFailureMs } from '../rules/retry-after.ts'
import { readProcessRef, readTransferNonce } from '../rules/transfer-notes.ts'
import { waitForStandbysMs } from '../rules/standby.ts'
import type {
  Acquiring,
  ElectorState,
  Following,
  Memory,
  Observation,
  SentWrite,
  Step,
  View,
} from '../machine/state.ts'

/*
 * Following: see the lease change, notice when it is free, and try to take it then and only then.
 *
 * 1. Expiry counts on the local clock from the moment at which the record was last seen to change, for the record's own duration.
 *    An edit within one term takes nothing from its holder, who may not know of it: the duration with which the record was written
 *    before counts as well, up to this replica's own.
 * 2. An acquiring write is based on the very version on which the judgement was made.
 * 3. A record naming this identity that this process did not write is somebody else's.
 * 4. A watch may lag, a read may not: one that finds an older version than was known when it was sent shows a restored store. What is
 *    in it counts from then, and is guarded for a whole lease: the holder may be one that the store has forgotten.
 */

/** Starts to follow. */
export function follow(
  memory: Memory,
  observation: Observation,
  at: Instant,
  pause: { readonly notBefore: number; readonly pollAt?: number },
): Following {
  return {
    kind: 'following',
    memory,
    observation,
    outstanding: [],
    reading: undefined,
    readingAfter: undefined,
    pollAt: pause.pollAt ?? (memory.watch === 'up' && observation.kind !== 'unknown' ? undefined : at.now),
    notBefore: pause.notBefore,
    pause: 'cool-down',
    offer: undefined,
    announcement: undefined,
    holdBackMs: holdBackMs(at.random),
    leaveBy: undefined,
  }
}

/** Does what is due: polls, or takes the lease if that is allowed now. */
export function advance(following: Following, at: Instant, config: ElectorConfig): Step {
  const state = withRoomSeen(withOfferSeen(following, at, config), at, config)
  const inheritance = inheritanceOf(state, at, config)
  if (inheritance !== undefined) return inherit(state, inheritance, at, config)
  if (state.leaveBy !== undefined && (!isInDoubt(state) || at.now >= state.leaveBy)) return stop(state)
  if (state.reading !== undefined) return { state, effects: [] }
  if (state.pollAt !== undefined && at.now >= state.pollAt) {
    const memory = nextRequest(state.memory)
    const readingAfter = newestVersion(state.observation)
    const next = { ...state, memory, reading: memory.requests, readingAfter, pollAt: undefined }
    return { state: next, effects: [{ kind: 'read', request: memory.requests }] }
  }
  const chance = nextChance(state, config)
  if (chance !== undefined && at.now >= chance.takeAt) return acquire(state, { at, config, ...chance })
  const answered = answerIfDue(state, at, config)
  return answered.effects.length > 0 ? answered : announceIfDue(state, at, config)
}

/** When a follower next has to do something by itself. */
export function followingWakesAt(state: Following, config: ElectorConfig): number | undefined {
  if (state.reading !== undefined) return state.leaveBy
  return earliest([
    state.pollAt,
    state.leaveBy,
    nextChance(state, config)?.takeAt,
    answerDueAt(state, config),
    announcementDueAt(state, config),
  ])
}

/** When a follower takes the lease if nothing changes; undefined when only a change can bring a chance. */
export function nextChanceAt(state: Following, config: ElectorConfig): number | undefined {
  return nextChance(state, config)?.takeAt
}

/** The earliest of the times that are set. */
export function earliest(times: readonly (number | undefined)[]): number | undefined {
  const set = times.filter((time) => time !== undefined)
  return set.length === 0 ? undefined : Math.min(...set)
}

/** Takes in a view of the lease while not holding it. Views older than the present one are dropped. */
export function observe<S extends Following | Acquiring>(
  state: S,
  snapshot: LockSnapshot,
  at: Instant,
  config: ElectorConfig,
): { readonly state: S; readonly effects: readonly ElectorEffect[] } {
  const { observation, memory } = state
  if (isStale(observation, snapshot)) return { state, effects: [] }
  const last = lastView(observation)
  const next: View =
    snapshot.kind === 'absent'
      ? { kind: 'absent', since: last?.kind === 'absent' ? last.since : at.now }
      : present(last, snapshot, at, config)
  const leader = snapshot.kind === 'present' ? snapshot.record.holderIdentity : ''
  const outstanding = state.outstanding.filter((write) => !isSettledBy(write, snapshot))
  const observedMemory = {
    ...memory,
    observedLeader: leader,
    existed: memory.existed || snapshot.kind === 'present',
    highestEpoch: highestEpoch(memory, last, snapshot),
  }
  const effects: ElectorEffect[] =
    leader === memory.observedLeader ? [] : [{ kind: 'leader-observed', identity: leader }]
  return { state: { ...state, memory: observedMemory, observation: next, outstanding }, effects }
}

/** Whether a view is older than the last one. A watch that lags shows that, and so does a store that went back. */
export function isOutOfDate({ observation }: Following, snapshot: LockSnapshot): boolean {
  const newest = newestVersion(observation)
  return newest !== undefined && snapshot.version !== undefined && snapshot.version < newest
}

/** Reads the lease before long, to tell a watch that lags from a store that went back. */
export function withReadSoon(state: Following, at: Instant, { timing }: ElectorConfig): Following {
  const soon = at.now + timing.retryPeriodMs / 4
  return state.reading === undefined ? { ...state, pollAt: Math.min(state.pollAt ?? soon, soon) } : state
}

/** Whether the answer to the read that is under way shows that the store went back: a read is never behind. */
export function isRestored({ readingAfter }: Following, snapshot: LockSnapshot): boolean {
  return readingAfter !== undefined && snapshot.kind === 'present' && snapshot.version < readingAfter
}

/** Whether a view has the version of the last one and another record: the store went back, and uses its versions again. */
export function isReused({ observation }: Following, snapshot: LockSnapshot): snapshot is PresentLease {
  const last = lastView(observation)
  if (last?.kind !== 'present' || snapshot.version !== last.lease.version) return false
  return snapshot.kind === 'present' && !isSameRecord(snapshot.record, last.lease.record)
}

/** Begins to observe again in a store that went back. Nothing that was written or promised before counts in it. */
export function withRestored(state: Following, lease: PresentLease, at: Instant, config: ElectorConfig): Following {
  const memory: Memory = { ...state.memory, own: undefined, candidate: undefined }
  const guardedUntil = at.now + config.timing.leaseDurationMs
  const observation: Observation = { kind: 'present', lease, changedAt: at.now, guardedUntil }
  return { ...state, memory, observation, outstanding: [], offer: undefined, announcement: undefined }
}

/** The holder whose process is worth watching: one that this replica follows, and that said where it runs. */
export function watchedHolder(state: ElectorState): LeaseHolder | undefined {
  if (state.kind !== 'following' || state.leaveBy !== undefined || state.observation.kind !== 'present')
    return undefined
  const { record } = state.observation.lease
  const { holderIdentity: identity, acquireTime } = record
  const processRef = readProcessRef(record)
  if (processRef === undefined || acquireTime === undefined) return undefined
  if (isTermOf(record, state.memory.deadHolder) || isOwn(state.memory, record)) return undefined
  return { identity, acquireTime, processRef }
}

/**
 * A read that finds the very version on which a write was refused shows that nothing changed: the refusal had another cause, and
 * the next try may meet it again.
 */
export function withDoubtCleared(
  state: Following,
  snapshot: LockSnapshot,
  at: Instant,
  config: ElectorConfig,
): Following {
  const { observation } = state
  if (observation.kind !== 'outdated' || observation.last.kind !== 'present') return state
  if (observation.last.lease.version !== snapshot.version) return state
  return {
    ...state,
    observation: observation.last,
    notBefore: at.now + config.timing.retryPeriodMs * (1 + 0.2 * at.random),
    pause: 'failure',
  }
}

/** A cool-down has served its purpose once somebody else leads. */
export function withoutServedCooldown(state: Following, at: Instant, identity: string): Following {
  const { observation, notBefore } = state
  if (observation.kind !== 'present' || notBefore <= at.now) return state
  const { holderIdentity } = observation.lease.record
  return holderIdentity === '' || holderIdentity === identity ? state : { ...state, notBefore: at.now }
}

/** The acquiring write of this process that a view of the lease shows to have happened. */
export function landedWrite(state: Following | Acquiring, snapshot: LockSnapshot): SentWrite | undefined {
  if (snapshot.kind === 'absent' || isStale(state.observation, snapshot)) return undefined
  const writes = state.kind === 'acquiring' ? [...state.outstanding, state.write] : state.outstanding
  return writes.find((write) => isWrittenAs(snapshot.record, write.record))
}

/** Whether a view shows that another live process uses this identity: two records in a row that this one did not write. */
export function isIdentityTaken(state: Following, snapshot: LockSnapshot, identity: string): boolean {
  const last = lastView(state.observation)
  if (last?.kind !== 'present' || snapshot.kind !== 'present' || isStale(last, snapshot)) return false
  const foreign = (lease: PresentLease) =>
    lease.record.holderIdentity === identity &&
    lease.record.acquireTime !== state.memory.own?.acquireTime &&
    readTransferNonce(lease.record) === undefined
  // A live process renews; any other change is an edit.
  return foreign(last.lease) && foreign(snapshot) && last.lease.record.renewTime !== snapshot.record.renewTime
}

/** Plans the next poll after a read was answered. */
export function afterRead(state: Following, result: ReadResult, at: Instant, config: ElectorConfig): Following {
  const { retryPeriodMs } = config.timing
  const { observation } = state
  const inDoubt = state.outstanding.length > 0 || observation.kind === 'outdated'
  const idle = { ...state, reading: undefined, readingAfter: undefined }
  const poll = inDoubt || state.memory.watch === 'down' || result.kind === 'failed'
  if (!poll) return { ...idle, pollAt: undefined }
  const leastMs = inDoubt ? retryPeriodMs / 4 : retryPeriodMs * (1 + 0.2 * at.random)
  const asked = result.kind === 'failed' ? result.retryAfterMs : undefined
  return { ...idle, pollAt: at.now + pauseAfterFailureMs(asked, leastMs, config.timing) }
}

/** When the lease becomes free by what was seen of it, and when to take it. */
interface Chance {
  readonly freeSince: number
  readonly takeAt: number
}

/** The next chance to take the lease; undefined when only a change can bring one. */
function nextChance(state: Following, { identity, timing }: ElectorConfig): Chance | undefined {
  const { observation, memory, notBefore } = state
  if (state.leaveBy !== undefined || observation.kind === 'unknown' || observation.kind === 'outdated') return undefined
  const chance = (freeSince: number, holdBackMs: number): Chance => ({
    freeSince,
    takeAt: Math.max(freeSince + holdBackMs, notBefore),
  })
  if (observation.kind === 'absent') return chance(observation.since, memory.existed ? state.holdBackMs : 0)
  const { changedAt, lease } = observation
  if (lease.deleting) return undefined
  const { record } = lease
  const isTransferred = record.holderIdentity === identity && readTransferNonce(record) !== undefined
  if (isTransferred || isOwn(memory, record)) return chance(changedAt, 0)
  const patience = { holdBackMs: state.holdBackMs, retryPeriodMs: timing.retryPeriodMs }
  return chance(freeSince(state, observation), waitForStandbysMs(record, identity, patience))
}

/** When the lease becomes free: at once when nobody holds it or the holder is dead, else when it was not renewed in time. */
function freeSince(
  { memory }: Following,
  { lease, changedAt, guardedUntil }: Extract<View, { kind: 'present' }>,
): number {
  const { deadHolder } = memory
  if (deadHolder !== undefined && isTermOf(lease.record, deadHolder)) return deadHolder.since
  return Math.max(guardedUntil, lease.record.holderIdentity === '' ? changedAt : changedAt + durationMs(lease))
}

/** A record without a usable duration protects its holder for the longest time that other clients use by default. */
const DURATION_OF_UNREADABLE_RECORD_MS = 15_000

/** For how long others leave a lease alone after they last saw it change. */
export function durationMs({ record }: PresentLease): number {
  return statedMs(record) || DURATION_OF_UNREADABLE_RECORD_MS
}

function acquire(
  state: Following,
  { at, config, freeSince }: { readonly at: Instant; readonly config: ElectorConfig; readonly freeSince: number },
): Step {
  const base = state.observation.kind === 'present' ? state.observation.lease : undefined
  const isHidden = base === undefined || isEarly(state.memory, at)
  const acquired = acquireRecord({
    config: isHidden ? withoutProcessRef(config) : config,
    previous: base?.record,
    wallTime: at.wallTime,
  })
  const record = withGreaterEpoch(acquired, base, state.memory.highestEpoch)
  const memory = nextRequest(state.memory)
  const write: LeaseWrite = { purpose: 'acquire', ...(base && { base }), record }
  const acquiring: Acquiring = {
    kind: 'acquiring',
    memory,
    observation: state.observation,
    outstanding: state.outstanding,
    write: { ...write, request: memory.requests, sentAt: at.now },
    freeSince,
    afterwards: 'lead',
  }
  return { state: acquiring, effects: [{ kind: 'write', request: memory.requests, write }] }
}

function stop(state: Following): Step {
  return { state: { kind: 'stopped', memory: state.memory }, effects: [{ kind: 'stopped' }] }
}

/** A view of the lease: what was seen of it before says since when it is so, and how long its holder is guarded. */
function present(last: View | undefined, lease: PresentLease, at: Instant, { timing }: ElectorConfig): View {
  const before = last?.kind === 'present' ? last : undefined
  if (before !== undefined && isSameRecord(before.lease.record, lease.record)) return { ...before, lease }
  const isFree = lease.record.holderIdentity === ''
  const grantedUntil = isFree ? at.now : at.now + Math.min(durationMs(lease), timing.leaseDurationMs)
  const wasEdited = before !== undefined && isEdited(before.lease.record, lease.record)
  const guardedUntil = wasEdited ? Math.max(before.guardedUntil, grantedUntil) : grantedUntil
  return { kind: 'present', lease, changedAt: at.now, guardedUntil }
}

/** Whether a record was changed within its term, by whoever it was. An acquisition, a transfer and a release have a new acquire time. */
function isEdited(before: LeaseRecord, { acquireTime }: LeaseRecord): boolean {
  return before.acquireTime === acquireTime
}

/** The term of a record that was not there before began with its version at the latest. */
function highestEpoch({ highestEpoch }: Memory, last: View | undefined, snapshot: LockSnapshot): bigint {
  if (snapshot.kind === 'absent') return highestEpoch
  const { record } = snapshot
  const before = last?.kind === 'present' ? last.lease.record : undefined
  const isKnown = before !== undefined && (record.holderIdentity === '' || isTermOf(before, termOf(record)))
  const epoch = epochOf(snapshot)
  return isKnown || epoch < highestEpoch ? highestEpoch : epoch
}

function newestVersion(observation: Observation): bigint | undefined {
  const last = lastView(observation)
  return last?.kind === 'present' ? last.lease.version : undefined
}

/** Whether a leader may still act who has not seen that the lease was deleted. */
export function isEarly({ actNotBefore }: Memory, at: Instant): boolean {
  return actNotBefore !== undefined && at.now < actNotBefore
}

function isOwn(memory: Memory, record: LeaseRecord): boolean {
  return memory.own !== undefined && isWrittenAs(record, memory.own)
}

/** Whether something that may still happen decides on whether this replica leads. */
function isInDoubt(state: Following): boolean {
  return state.outstanding.length > 0 || isAnswerPending(state)
}

function lastView(observation: Observation): View | undefined {
  if (observation.kind === 'unknown') return undefined
  return observation.kind === 'outdated' ? observation.last : observation
}

function isStale(observation: Observation, snapshot: LockSnapshot): boolean {
  const last = lastView(observation)
  if (last?.kind !== 'present' || snapshot.version === undefined) return false
  return snapshot.version <= last.lease.version
}

/** A compare-and-swap on an older version can no longer succeed once a newer one was seen. */
function isSettledBy(write: SentWrite, snapshot: LockSnapshot): boolean {
  if (snapshot.kind === 'absent') return write.base !== undefined
  return write.base === undefined || snapshot.version > write.base.version
}
