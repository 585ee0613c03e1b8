import { jittered } from '../../jitter.ts'
import type { LeaseRecord } from '../../lock/lease-record.ts'
import type { LeaseHolder, LockSnapshot, PresentLease } from '../../lock/lock.ts'
import type { ElectorConfig, TransitionContext } from '../machine/config.ts'
import type { ElectorEffect } from '../machine/effect.ts'
import type { EventOf, Instant, ReadResult, TermKey } from '../machine/event.ts'
import type { Acquiring, ElectorState, Following, Memory, Observation, Step } from '../machine/state.ts'
import { isOwn, withDeadHolder } from '../rules/memory.ts'
import {
  isOutOfDate,
  isRestored,
  isReused,
  isStale,
  landedWrite,
  lastView,
  newestVersion,
  observe,
  seenNow,
  type ObservationContext,
} from '../rules/observation.ts'
import { isSameRecord } from '../rules/records.ts'
import { pauseAfterFailureMs } from '../rules/retry-after.ts'
import { isTermOf } from '../rules/term-key.ts'
import { readProcessRef, readTransferNonce } from '../rules/transfer-notes.ts'
import { acquired } from './acquiring.ts'
import { announcementWritten } from './announcing.ts'
import { answerWritten } from './answering.ts'

/*
 * Following: watch the lease, and try to acquire it when it is free, and only then.
 *
 * 1. A lease expires when its record has not changed for its own duration, measured on the local clock. An edit within a term must not
 *    shorten the time of its holder, who may not have seen it. So the previous duration also counts, up to this replica's own. If nothing of
 *    the term was seen before, the replica's own counts.
 * 2. An acquiring write is based on the version on which the decision was made.
 * 3. A record with this identity that this process did not write belongs to another replica.
 * 4. A watch may lag, a read may not. A read that finds an older version than was known at its send shows a restored store. Its record
 *    then counts as new and is protected for a whole lease duration, because the store may have lost the actual holder.
 */

export function followingObserved(
  state: Following,
  event: Pick<EventOf<'observed'>, 'snapshot'>,
  context: ObservationContext,
): Step {
  const { at, config } = context
  const landed = landedWrite(state, event.snapshot)
  if (landed !== undefined && event.snapshot.kind === 'present') {
    return acquired(state, landed, { lease: event.snapshot, at, config })
  }
  if (isIdentityTaken(state, event.snapshot, config.identity)) {
    return {
      state: { kind: 'stopped', memory: state.memory },
      effects: [{ kind: 'identity-taken', identity: config.identity }],
    }
  }
  if (isReused(state, event.snapshot)) {
    return { state: withRestored(state, event.snapshot, at, config), effects: [] }
  }
  if (isOutOfDate(state, event.snapshot)) return { state: withReadSoon(state, at, config), effects: [] }
  const seen = observe(state, event.snapshot, context)
  const watching = withoutNeedlessPoll(seen.state)
  const following = isRenewed(state, watching) ? withoutServedCooldown(watching, at, config.identity) : watching
  return { state: following, effects: seen.effects }
}

/**
 * Whether the lease changed in a field that electors compare, which shows that its holder was alive. A refused write leaves no cool-down, so
 * after that any view will do.
 */
function isRenewed({ observation: last }: Following, { observation }: Following): boolean {
  return (
    observation.kind === 'present' &&
    (last.kind !== 'present' || !isSameRecord(last.lease.record, observation.lease.record))
  )
}

export function followingRead(state: Following, event: EventOf<'read-answer'>, context: TransitionContext): Step {
  const { at, config } = context
  if (state.reading !== event.request) return { state, effects: [] }
  if (event.result.kind === 'failed') {
    const effects: ElectorEffect[] = [{ kind: 'request-failed', purpose: 'read', error: event.result.error }]
    return { state: afterRead(state, event.result, at, config), effects }
  }
  const { snapshot } = event.result
  if (isRestored(state, snapshot)) {
    const restored = withRestored(state, snapshot, at, config)
    return { state: afterRead(restored, event.result, at, config), effects: [] }
  }
  const confirmed = withDoubtCleared(state, snapshot, at, config)
  const step = followingObserved(confirmed, { snapshot }, { ...context, source: 'read' })
  if (step.state.kind !== 'following') return step
  return { ...step, state: afterRead(step.state, event.result, at, config) }
}

export function followingAnswered(state: Following, event: EventOf<'write-answer'>, context: TransitionContext): Step {
  const { at, config } = context
  const { result } = event
  const purpose = purposeOf(state, event.request)
  if (purpose === undefined) return { state, effects: [] }
  const answered =
    purpose === 'answer' ? answerWritten(state, result, at, config) : announcementWritten(state, result, at, config)
  if (result.kind === 'written') {
    // Newer versions may have been seen meanwhile. That shows neither a lagging watch nor a restored store.
    if (isOutOfDate(answered, result.lease)) return { state: answered, effects: [] }
    return followingObserved(answered, { snapshot: result.lease }, context)
  }
  const effects: ElectorEffect[] = []
  // A conflict only means that another client was faster.
  if (result.failure !== 'conflict') effects.push({ kind: 'request-failed', purpose, error: result.error })
  return { state: answered, effects }
}

/** The purpose of this write; undefined if the follower no longer waits for it. */
function purposeOf({ offer, announcement }: Following, request: number): 'answer' | 'announce' | undefined {
  if (offer?.request?.number === request) return 'answer'
  return announcement?.request === request ? 'announce' : undefined
}

/** Handles a proof of death. It counts only for a record that names the dead holder. */
export function holderDead(state: Following | Acquiring, holder: TermKey, { at }: TransitionContext): Step {
  if (!isTermOf(awaitedRecord(state), holder)) return { state, effects: [] }
  return { state: { ...state, memory: withDeadHolder(state.memory, holder, at) }, effects: [] }
}

/** While the watch is connected, the lease is read only to resolve a doubt. */
export function withoutNeedlessPoll(state: Following): Following {
  const { observation, outstanding, memory } = state
  const inDoubt = outstanding.length > 0 || observation.kind === 'unknown' || observation.kind === 'outdated'
  return memory.watch === 'up' && !inDoubt && !memory.isBehind ? { ...state, pollAt: undefined } : state
}

/**
 * The holder whose process this replica watches: the holder for which it waits, if it published its process. If holders keep the lease for
 * life, every holder: the lock may know its process in another way.
 */
export function watchedHolder(state: ElectorState, { heldForLife }: ElectorConfig): LeaseHolder | undefined {
  const record = awaitedRecord(state)
  if (record === undefined) return undefined
  const { holderIdentity: identity, acquireTime } = record
  const unpublished = heldForLife === true && identity !== '' ? '' : undefined
  const processRef = readProcessRef(record) ?? unpublished
  if (processRef === undefined || acquireTime === undefined) return undefined
  if (isTermOf(record, state.memory.deadHolder) || isOwn(state.memory, record)) return undefined
  return { identity, acquireTime, processRef }
}

/** The record whose holder this replica waits for. After the deletion of a lease for life, that is the record that was deleted. */
function awaitedRecord(state: ElectorState): LeaseRecord | undefined {
  if (state.kind === 'reserving') return state.replaced?.record
  if (state.kind !== 'following' && state.kind !== 'acquiring') return undefined
  const { observation } = state
  if (observation.kind === 'absent') return observation.deleted
  if (state.kind === 'acquiring' || state.leaveBy !== undefined) return undefined
  return observation.kind === 'present' ? observation.lease.record : undefined
}

/** Plans an early read, to distinguish a lagging watch from a restored store. */
function withReadSoon(state: Following, at: Instant, { timing }: ElectorConfig): Following {
  const soon = at.now + timing.retryPeriodMs / 4
  return { ...state, memory: { ...state.memory, isBehind: true }, pollAt: Math.min(state.pollAt ?? soon, soon) }
}

/** Starts to observe a restored store. Earlier writes and answers do not count in it. */
function withRestored(state: Following, snapshot: LockSnapshot, at: Instant, config: ElectorConfig): Following {
  const memory: Memory = { ...state.memory, isBehind: false, own: undefined, candidate: undefined }
  const guardedUntil = at.now + config.timing.leaseDurationMs
  const observation: Observation =
    snapshot.kind === 'absent'
      ? { kind: 'absent', version: snapshot.version, since: at.now, guardedUntil }
      : seenNow(snapshot, at.now, guardedUntil)
  return { ...state, memory, observation, outstanding: [], offer: undefined, announcement: undefined }
}

/**
 * A read that finds the version on which a write was refused shows that nothing changed. The refusal had another cause, which the next
 * attempt may meet again.
 */
function withDoubtCleared(state: Following, snapshot: LockSnapshot, at: Instant, config: ElectorConfig): Following {
  const { observation } = state
  if (observation.kind !== 'outdated') return state
  if (snapshot.version === undefined || snapshot.version !== newestVersion(observation)) return state
  return {
    ...state,
    observation: observation.last,
    notBefore: at.now + jittered(config.timing.retryPeriodMs, at.random),
    pause: 'failure',
  }
}

/** Ends the cool-down once another replica leads. */
function withoutServedCooldown(state: Following, at: Instant, identity: string): Following {
  const { observation, notBefore } = state
  if (observation.kind !== 'present') return state
  const { holderIdentity } = observation.lease.record
  const isOver = holderIdentity !== '' && holderIdentity !== identity
  return isOver ? { ...state, notBefore: Math.min(notBefore, at.now) } : state
}

/** Whether a view shows that another live process uses this identity: two successive records that this process did not write. */
function isIdentityTaken(state: Following, snapshot: LockSnapshot, identity: string): boolean {
  const last = lastView(state.observation)
  if (last?.kind !== 'present' || snapshot.kind !== 'present' || isStale(last, snapshot)) return false
  const foreign = (lease: PresentLease) =>
    lease.record.holderIdentity === identity &&
    // A coordinator names holders without it.
    lease.record.acquireTime !== undefined &&
    lease.record.acquireTime !== state.memory.own?.acquireTime &&
    readTransferNonce(lease.record) === undefined
  // A live process renews; any other change is an edit.
  return foreign(last.lease) && foreign(snapshot) && last.lease.record.renewTime !== snapshot.record.renewTime
}

/** Plans the next poll after a read was answered. */
function afterRead(state: Following, result: ReadResult, at: Instant, config: ElectorConfig): Following {
  const { retryPeriodMs } = config.timing
  const { observation } = state
  const inDoubt = state.outstanding.length > 0 || observation.kind === 'outdated'
  const idle = {
    ...state,
    reading: undefined,
    readingAfter: undefined,
    memory: { ...state.memory, isBehind: state.memory.isBehind && result.kind === 'failed' },
  }
  const poll = inDoubt || state.memory.watch === 'down' || result.kind === 'failed'
  if (!poll) return { ...idle, pollAt: undefined }
  const leastMs = inDoubt ? retryPeriodMs / 4 : jittered(retryPeriodMs, at.random)
  const asked = result.kind === 'failed' ? result.retryAfterMs : undefined
  return { ...idle, pollAt: at.now + pauseAfterFailureMs(asked, leastMs, config.timing) }
}
