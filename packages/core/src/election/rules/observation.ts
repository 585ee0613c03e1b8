import type { LeaseRecord } from '../../lock/lease-record.ts'
import { type AbsentLease, type LockSnapshot, type PresentLease, epochOf } from '../../lock/lock.ts'
import type { ElectorConfig, TransitionContext } from '../machine/config.ts'
import type { ElectorEffect } from '../machine/effect.ts'
import type { Instant } from '../machine/event.ts'
import type { Acquiring, Following, Hold, Memory, Observation, PresentView, SentWrite, View } from '../machine/state.ts'
import { namedView } from './named-view.ts'
import { isRelease, isSameRecord, isWrittenAs } from './records.ts'
import { isKeptByHolder } from './standby-note.ts'
import { isTermOf, termOf } from './term-key.ts'
import { readTransferNonce } from './transfer-notes.ts'
import { durationMs, endOf, heldMs, recordOf, type ViewContext } from './view.ts'

/*
 * What a replica knows of the lease while it does not hold it.
 *
 * 1. It drops views that are older than the last one, unless the store was restored.
 * 2. Earlier views determine since when the record is unchanged and how long its holder is protected.
 */

/** How a view of the lease came: a watch that is up reports every change, and a read may skip some. */
type ViewSource = 'watch' | 'read'

/** A moment at which the lease may be seen, and how. The answer to a write counts like the watch for a follower, whose write skips no change. */
export type ObservationContext = TransitionContext & { readonly source?: ViewSource }

/** Handles a view of the lease while not holding it. Drops views that are older than the last one. */
export function observe<S extends Following | Acquiring>(
  state: S,
  snapshot: LockSnapshot,
  { at, config, source = 'watch' }: ObservationContext,
): { readonly state: S; readonly effects: readonly ElectorEffect[] } {
  const { observation, memory } = state
  if (isStale(observation, snapshot)) {
    const isBehind = isOutOfDate(state, snapshot) || isReused(state, snapshot)
    return { state: memory.isBehind === isBehind ? state : { ...state, memory: { ...memory, isBehind } }, effects: [] }
  }
  const last = lastView(observation)
  const next = nextView(last, snapshot, { sawAll: isGapless(memory, source), at, config })
  const leader = snapshot.kind === 'present' ? snapshot.record.holderIdentity : ''
  const outstanding = state.outstanding.filter((write) => !isSettledBy(write, snapshot))
  const observedMemory = {
    ...memory,
    observedLeader: leader,
    existed: memory.existed || snapshot.kind === 'present',
    isBehind: false,
    since: memory.since ?? snapshot.version,
    ...longestHeld(memory, snapshot, config),
    highestEpoch: highestEpoch(memory, recordOf(last), snapshot),
  }
  const effects: ElectorEffect[] =
    leader === memory.observedLeader ? [] : [{ kind: 'leader-observed', identity: leader }]
  return { state: { ...state, memory: observedMemory, observation: next, outstanding }, effects }
}

/** Whether no change is missed between the last view and this one. */
function isGapless({ watch }: Memory, source: ViewSource): boolean {
  return source === 'watch' && watch === 'up'
}

function nextView(last: View | undefined, snapshot: LockSnapshot, context: ViewContext): View {
  if (snapshot.kind === 'absent') return absentView(last, snapshot, context)
  return namedView(viewOf(last, snapshot, context), last, context)
}

type AbsentView = Extract<View, { kind: 'absent' }>

function absentView(last: View | undefined, snapshot: AbsentLease, context: ViewContext): View {
  const { at, config } = context
  const before: Partial<AbsentView> = last?.kind === 'absent' ? last : {}
  return {
    kind: 'absent',
    version: snapshot.version ?? versionOf(last),
    since: before.since ?? at.now,
    guardedUntil: Math.max(lastUntil(last), unseenUntil(last, context)),
    heldMs: heldMs(last),
    deleted: config.heldForLife === true ? (snapshot.deleted ?? before.deleted) : undefined,
  }
}

/**
 * Until when a holder may act whose lease was deleted unseen; 0 if there can be none. A coordinator may create the lease for this replica, and
 * then nothing else shows that holder.
 */
function unseenUntil(
  last: View | undefined,
  { sawAll, at, config: { coordination, missingLease, timing } }: ViewContext,
): number {
  const mayBeUnseen = last === undefined ? missingLease === 'wait' : !sawAll
  if (coordination === undefined || !mayBeUnseen) return 0
  return at.now + Math.max(timing.leaseDurationMs, heldMs(last))
}

/** A replica with other options, in a rollout, may hold the lease for longer than this one would. */
function longestHeld(
  { longestHeldMs = 0 }: Memory,
  snapshot: LockSnapshot,
  { heldForLife }: ElectorConfig,
): Pick<Memory, 'longestHeldMs'> {
  if (heldForLife !== true || snapshot.kind === 'absent' || snapshot.record.holderIdentity === '') return {}
  return { longestHeldMs: Math.max(longestHeldMs, durationMs(snapshot)) }
}

/** The new view. The last view determines since when the record is unchanged and how long its holder is protected. */
function viewOf(last: View | undefined, lease: PresentLease, context: ViewContext): PresentView {
  const { at, config } = context
  const before = last?.kind === 'present' ? last : undefined
  if (before !== undefined && isSameRecord(before.lease.record, lease.record)) return { ...before, lease }
  const wasEdited = before !== undefined && isEdited(before.lease.record, lease.record)
  const longestMs = wasEdited ? longestOfTerm(before, lease, context) : longestAtFirst(lease)
  const ownMs = Math.min(grantedMs(before, lease, longestMs, config), config.timing.leaseDurationMs)
  // A lease that was created after a deletion may be held by a replica that does not act yet, and states a shorter duration.
  const grantedUntil = at.now + (before === undefined ? Math.max(ownMs, heldMs(last)) : ownMs)
  const earlierUntil = wasEdited ? before.guardedUntil : holderBeforeUntil(last, lease.record)
  return {
    kind: 'present',
    lease,
    changedAt: at.now,
    guardedUntil: Math.max(earlierUntil, grantedUntil),
    longestMs,
    ...renewalOf(before, lease, at),
  }
}

/** A renewal that follows directly on the last view states the duration of the holder: nobody can have edited it before it was seen. */
function longestOfTerm(
  { longestMs, lease: before }: PresentView,
  lease: PresentLease,
  { sawAll }: ViewContext,
): number {
  const isStated = sawAll && before.record.renewTime !== lease.record.renewTime
  return isStated && longestMs === Infinity ? durationMs(lease) : Math.max(longestMs, durationMs(lease))
}

/** An acquisition states the duration of the holder. A transfer does not, and a later record may have been edited. */
function longestAtFirst(lease: PresentLease): number {
  const isOfHolder = isAsBegun(lease.record) && readTransferNonce(lease.record) === undefined
  return isOfHolder ? durationMs(lease) : Infinity
}

/** Until when another holder may act after a new term was seen. A release, a transfer and another term of the same holder prove its end. */
function holderBeforeUntil(last: View | undefined, record: LeaseRecord): number {
  if (record.holderIdentity === '' || readTransferNonce(record) !== undefined) return 0
  const before = recordOf(last)
  const isSame = before?.holderIdentity === record.holderIdentity && before.acquireTime !== undefined
  return isSame ? 0 : lastUntil(last)
}

/**
 * How long a new record protects its holder, up to this replica's own lease duration. If the holder may have renewed unseen, a client may
 * have shortened the lease since, or cleared its holder. Then the longest duration that the term has had counts. A holder for life renews
 * without a write, so that only a release shows that it has ended. If nothing of the term was seen before that shows what its holder states, the
 * replica's own duration counts.
 */
function grantedMs(
  before: PresentView | undefined,
  lease: PresentLease,
  longestMs: number,
  { heldForLife = false }: ElectorConfig,
): number {
  const { record } = lease
  const ownMs = record.holderIdentity === '' ? 0 : durationMs(lease)
  if (before === undefined || !isEdited(before.lease.record, record)) {
    const isIntact = heldForLife && record.holderIdentity === '' ? isRelease(record) : isAsBegun(record)
    return isIntact ? ownMs : Infinity
  }
  return !heldForLife && before.lease.record.renewTime === record.renewTime ? ownMs : longestMs
}

/** Whether a record has two equal times, as an acquisition, a transfer and a release write it. Renewals and edits keep the acquire time. */
function isAsBegun({ acquireTime, renewTime }: LeaseRecord): boolean {
  return acquireTime === renewTime
}

/** Until when a holder may act that was seen; 0 if none was. */
function lastUntil(last: View | undefined): number {
  return last === undefined ? 0 : (endOf(last) ?? 0)
}

/** Whether a holder that does not know the standbys has renewed, and how long after its last renewal. */
function renewalOf(
  before: PresentView | undefined,
  { record }: PresentLease,
  at: Instant,
): Pick<PresentView, 'isRenewal' | 'renewedAfterMs'> {
  const isRenewal = !isKeptByHolder(record) && isTermOf(before?.lease.record, termOf(record))
  return { isRenewal, renewedAfterMs: isRenewal && before?.isRenewal ? at.now - before.changedAt : undefined }
}

/** Whether a client changed a record within its term. An acquisition, a transfer and a release have a new acquire time. */
function isEdited(before: LeaseRecord, { acquireTime }: LeaseRecord): boolean {
  return before.acquireTime === acquireTime
}

/** What is known after a view of the lease that ends the hold of this replica: about the term after its own, if there is one. */
export function withTermSeen(
  memory: Memory,
  held: LeaseRecord,
  snapshot: LockSnapshot | undefined,
  config: ElectorConfig,
): Memory {
  if (snapshot === undefined) return memory
  return { ...memory, ...longestHeld(memory, snapshot, config), highestEpoch: highestEpoch(memory, held, snapshot) }
}

/** The greatest known epoch. The term of a new record began with its version at the latest. */
function highestEpoch({ highestEpoch }: Memory, before: LeaseRecord | undefined, snapshot: LockSnapshot): bigint {
  if (snapshot.kind === 'absent') return highestEpoch
  const isKnown = before !== undefined && isOfSeenTerm(before, snapshot.record)
  const epoch = epochOf(snapshot)
  return isKnown || epoch < highestEpoch ? highestEpoch : epoch
}

/** Whether a record is of the last seen term, or its release. A different number of transitions shows that a term in between was missed. */
function isOfSeenTerm(before: LeaseRecord, record: LeaseRecord): boolean {
  if (record.holderIdentity !== '') return isTermOf(before, termOf(record))
  return record.leaseTransitions === before.leaseTransitions
}

export function isStale(observation: Observation, snapshot: LockSnapshot): boolean {
  const newest = newestVersion(observation)
  return newest !== undefined && snapshot.version !== undefined && snapshot.version <= newest
}

/** Whether the outcome of a write is known: a compare-and-swap on an older version can no longer succeed. */
function isSettledBy(write: SentWrite, snapshot: LockSnapshot): boolean {
  if (snapshot.kind === 'absent') return write.base !== undefined
  return write.base === undefined || snapshot.version > write.base.version
}

/** Whether a view is older than the last one: the watch lags, or the store was restored. */
export function isOutOfDate({ observation }: Following | Acquiring, snapshot: LockSnapshot): boolean {
  const newest = newestVersion(observation)
  return newest !== undefined && snapshot.version !== undefined && snapshot.version < newest
}

/** Whether the answer to the read in flight shows that the store was restored. A read is never stale. */
export function isRestored({ readingAfter }: Following, snapshot: LockSnapshot): boolean {
  return readingAfter !== undefined && snapshot.version !== undefined && snapshot.version < readingAfter
}

/** Whether a view has the version of the last one but another record, or none: the store was restored and reuses its versions. */
export function isReused({ observation }: Following | Acquiring, snapshot: LockSnapshot): boolean {
  const last = lastView(observation)
  if (last?.kind !== 'present' || snapshot.version !== last.lease.version) return false
  return snapshot.kind === 'absent' || !isSameRecord(snapshot.record, last.lease.record)
}

export function lastView(observation: Observation): View | undefined {
  if (observation.kind === 'unknown') return undefined
  return observation.kind === 'outdated' ? observation.last : observation
}

export function newestVersion(observation: Observation): bigint | undefined {
  return versionOf(lastView(observation))
}

function versionOf(view: View | undefined): bigint | undefined {
  return view?.kind === 'present' ? view.lease.version : view?.version
}

/** The observation of a lease that is no longer held, when the hold of this replica has ended. Of what came after it, the replica saw nothing. */
export function observationOf(
  snapshot: LockSnapshot | undefined,
  { memory, hold: { lease } }: { readonly memory: Memory; readonly hold: Hold },
  { at, config, source = 'read' }: ObservationContext,
): Observation {
  if (snapshot === undefined) return seenNow(lease, at.now, at.now)
  if (snapshot.kind === 'present' && !isOfLaterTerm(snapshot, lease)) return seenNow(snapshot, at.now, at.now)
  const ended = seenNow({ ...lease, record: { ...lease.record, holderIdentity: '' } }, at.now, at.now)
  return nextView(ended, snapshot, { sawAll: isGapless(memory, source), at, config })
}

/** Whether a lease is of a term after the own one, or names a holder. An older version is that of a restored store, whose holder has ended before. */
function isOfLaterTerm({ record, version }: PresentLease, own: PresentLease): boolean {
  return record.acquireTime !== own.record.acquireTime && version > own.version
}

/** A view of a lease of which nothing was seen before. */
export function seenNow(lease: PresentLease, now: number, guardedUntil: number): PresentView {
  return {
    kind: 'present',
    lease,
    changedAt: now,
    isRenewal: false,
    renewedAfterMs: undefined,
    guardedUntil,
    longestMs: longestAtFirst(lease),
  }
}

/** The acquiring write of this process whose success a view of the lease shows. */
export function landedWrite(state: Following | Acquiring, snapshot: LockSnapshot): SentWrite | undefined {
  if (snapshot.kind === 'absent' || isStale(state.observation, snapshot)) return undefined
  const writes = state.kind === 'acquiring' ? [...state.outstanding, state.write] : state.outstanding
  return writes.find((write) => isWrittenAs(snapshot.record, write.record))
}
