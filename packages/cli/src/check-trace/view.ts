import type { TraceRecord } from '@tenure/core/internal'
import { durationMs, epochOf, isSameRecord, type Version } from './records.ts'

/** The lease as a replica last saw it. The times are on its own clock. */
export interface View {
  /** Undefined if the lease was missing. */
  readonly record: TraceRecord | undefined
  readonly version: Version
  /** What the epoch of a term would be that begins with this version. */
  readonly counted: Version
  readonly isDeleting: boolean
  /** Since when the record is unchanged. */
  readonly changedAt: number
  /** Until when the holder may act by what was seen earlier. */
  readonly guardedUntil: number
  /**
   * The longest duration that the term has had, or Infinity if none is certainly that of its holder; of a missing lease, the duration that the deleted one
   * stated.
   */
  readonly longestMs: number
}

/** What a line says of the lease. */
export type Sighting = Pick<View, 'record' | 'version' | 'counted' | 'isDeleting'>

/** How a replica sees. */
export interface Viewer {
  readonly leaseMs: number
  /** Who decides which replica leads, if it may be a coordinator. */
  readonly coordination: string | undefined
  /** Whether it was shown every change since the last view: by a watch that is up, not by a read. */
  readonly sawAll: boolean
  readonly heldForLife: boolean
  readonly missingLease: string
}

/** A sighting of which nothing was known before, or that restarts what is known. */
export function firstView(
  seen: Sighting,
  now: number,
  guardedUntil: number,
  longestMs: number = statedByHolderMs(seen.record),
): View {
  return { ...seen, changedAt: now, guardedUntil, longestMs }
}

/** What the holder of a term states, by the first record of it that was seen. Only an acquisition shows that: others may have edited a later one. */
function statedByHolderMs(record: TraceRecord | undefined): number {
  if (record === undefined) return 0
  return record.a === record.r && record.x === undefined ? durationMs(record) : Infinity
}

/** The duration that the last holder stated, also after the deletion of its lease. */
export function lastHeldMs(last: View | undefined): number {
  return last?.record === undefined ? (last?.longestMs ?? 0) : durationMs(last.record)
}

/**
 * The view after a sighting. A record counts from when it was first seen. An edit within a term must not shorten the time of its holder: the longest
 * duration of the term counts where the holder may have renewed it unseen.
 */
export function nextView(last: View | undefined, seen: Sighting, now: number, viewer: Viewer): View {
  const view = plainView(last, seen, now, viewer)
  const { record } = seen
  if (record === undefined || !isNamed(last, record, viewer)) return view
  // Every acquisition counts as a transition: the same count shows that no holder was missed, also where there was no lease before.
  const isGapless = last !== undefined && viewer.sawAll && last.record?.n === record.n
  return { ...view, guardedUntil: isGapless ? endOf(last) : unseenUntil(last, now, viewer) }
}

function plainView(last: View | undefined, seen: Sighting, now: number, viewer: Viewer): View {
  const { record } = seen
  if (record === undefined) return missingView(last, seen, now, viewer)
  const before = last?.record
  if (last === undefined || before === undefined || before.a !== record.a) {
    // What replaces a deleted lease may state less than the deleted one, and its holder may not act yet.
    const grantedMs = Math.max(ofUnseenTermMs(record, viewer), before === undefined ? lastHeldMs(last) : 0)
    return firstView(seen, now, Math.max(now + grantedMs, holderBeforeUntil(last, record)))
  }
  if (isSameRecord(before, record)) return { ...last, ...seen }
  return sameTermView({ ...last, record: before }, { ...seen, record }, now, viewer)
}

/** The view of another record of the same term. */
function sameTermView(
  last: View & { readonly record: TraceRecord },
  seen: Sighting & { readonly record: TraceRecord },
  now: number,
  { leaseMs, heldForLife, sawAll }: Viewer,
): View {
  const { record } = seen
  const hasWritten = last.record.r !== record.r
  // Nobody can have edited a renewal that follows directly on what was seen before.
  const isCertain = sawAll && hasWritten && last.longestMs === Infinity
  const longestMs = isCertain ? durationMs(record) : Math.max(last.longestMs, durationMs(record))
  // A holder for life renews without a write.
  const grantedMs = hasWritten || heldForLife ? longestMs : ownMs(record)
  const guardedUntil = Math.max(last.guardedUntil, now + Math.min(grantedMs, leaseMs))
  return { ...seen, changedAt: now, guardedUntil, longestMs }
}

/** The view with which a replica follows when its own hold is over. It no longer protects that hold. */
export function endedView(held: View, now: number): View {
  return { ...held, record: held.record && { ...held.record, h: '' }, changedAt: now, guardedUntil: now }
}

/** Until when another holder may act after a new term was seen. A release, a transfer and another term of the same holder prove its end. */
function holderBeforeUntil(last: View | undefined, record: TraceRecord): number {
  const isSame = last?.record?.h === record.h && last.record.a !== undefined
  return last === undefined || record.h === '' || record.x !== undefined || isSame ? -Infinity : endOf(last)
}

function missingView(last: View | undefined, seen: Sighting, now: number, viewer: Viewer): View {
  const { coordination, missingLease, sawAll } = viewer
  // A coordinator may create the lease. Nothing then shows that a holder went unseen.
  const mayHaveMissed = coordination !== undefined && (last === undefined ? missingLease === 'wait' : !sawAll)
  const unseen = mayHaveMissed ? unseenUntil(last, now, viewer) : now
  if (last === undefined) return firstView(seen, now, unseen)
  const isStillMissing = last.record === undefined
  const version = seen.version === 0 ? last.version : seen.version
  const guardedUntil = mayHaveMissed ? Math.max(endOf(last), unseen) : endOf(last)
  return firstView({ ...seen, version }, isStillMissing ? last.changedAt : now, guardedUntil, lastHeldMs(last))
}

function unseenUntil(last: View | undefined, now: number, { leaseMs }: Viewer): number {
  return now + Math.max(leaseMs, lastHeldMs(last))
}

/**
 * How long a record protects its holder if nothing of its term was seen before. A client may have shortened it after a renewal. Only a record with two
 * equal times is as its holder began the term. A holder for life renews without a write, so only a release shows its end.
 */
function ofUnseenTermMs(record: TraceRecord, { leaseMs, heldForLife }: Viewer): number {
  const isIntact = record.h === '' && heldForLife ? isReleased(record) : record.a === record.r
  return isIntact ? Math.min(ownMs(record), leaseMs) : leaseMs
}

/** Whether the record is as a release writes it: an edit that only clears the holder changes neither the times nor the duration. */
export function isReleased({ h, d, a, r }: TraceRecord): boolean {
  return h === '' && d === 1 && a === r
}

/** How long the record itself protects its holder. */
function ownMs(record: TraceRecord): number {
  return record.h === '' ? 0 : durationMs(record)
}

/** Whether a coordinator may have named the holder of a record, who may be the holder of before. It states no acquire time. */
function isNamed(last: View | undefined, record: TraceRecord, { coordination, sawAll }: Viewer): boolean {
  if (coordination === undefined || record.h === '') return false
  if (record.a === undefined) return !isSameNaming(last?.record, record, sawAll)
  if (last === undefined || coordination !== 'server' || record.x !== undefined) return false
  return !isSameTerm(last.record, record, sawAll)
}

/** Whether it is the term of before, or a later one of that holder on which this one follows directly. */
function isSameTerm(before: TraceRecord | undefined, { h, a }: TraceRecord, sawAll: boolean): boolean {
  return before?.h === h && (sawAll || before.a === a)
}

/** Whether the name was there before. After a gap, the holder may have been named again, after another one. */
function isSameNaming(before: TraceRecord | undefined, { h, r }: TraceRecord, sawAll: boolean): boolean {
  return before?.h === h && before.a === undefined && (sawAll || before.r === r)
}

/** Until when the holder of a view may act. */
function endOf({ record, changedAt, guardedUntil }: View): number {
  if (record === undefined || record.h === '') return guardedUntil
  return Math.max(guardedUntil, changedAt + durationMs(record))
}

/** From when a replica may take the lease if only time proves that its holder does not act. */
export function freeAt({ record, changedAt, guardedUntil }: View): number {
  if (record === undefined) return changedAt
  return Math.max(guardedUntil, record.h === '' ? changedAt : changedAt + durationMs(record))
}

/** The epoch of a term that begins with the lease as seen. */
export function epochSeen({ counted, record }: Sighting): Version {
  return record === undefined ? counted : epochOf(counted, record)
}
