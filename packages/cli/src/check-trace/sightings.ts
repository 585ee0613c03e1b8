import type { TraceRecord } from '@tenure/core/internal'
import { acquires, cut, renews } from './holding.ts'
import { durationMs, greatest, isOfTerm, isSameRecord, isWrittenAs, type Version, versionOf } from './records.ts'
import { HOLDING, type Replica, type Sent } from './replica.ts'
import type { Line } from './shape.ts'
import type { Step } from './step.ts'
import type { Content } from './store-history.ts'
import { endedView, epochSeen, firstView, nextView, type Sighting, type View, type Viewer } from './view.ts'

/*
 * What a replica sees of the lease.
 */

/** Takes in the lease that the watch or a read shows. `after` is the newest version that was known when the read was sent. */
export function sees(step: Step, after?: Version): void {
  const { replica, line } = step
  const seen = sightingOf(line)
  noteSeen(step, seen)
  if (line.v !== undefined && !isNews(step, seen, after)) return
  const landed = seen.record && landedWrite(step, seen.record)
  if (landed !== undefined) acknowledge(step, landed, seen)
  else observe(step, seen)
  replica.existed ||= seen.record !== undefined
}

/** Whether a sighting is newer than the last one. A sighting that cannot be older, but is, shows that the store was restored. */
function isNews(step: Step, seen: Sighting, after: Version | undefined): boolean {
  const last = step.replica.view
  if (last === undefined) return true
  if (after !== undefined && seen.version < after) {
    isRestored(step, seen, `a read finds version ${seen.version} after ${after}`)
    return false
  }
  if (seen.version !== last.version) return seen.version > last.version
  if (last.record === undefined) return false
  const isSame = seen.record !== undefined && isSameRecord(seen.record, last.record)
  if (!isSame) isReused(step, seen)
  return false
}

/** Takes in the answer to a read. */
export function isRead(step: Step): void {
  const { replica, line } = step
  const { reads, reading } = replica
  if (line.q === undefined || !reads.has(line.q))
    return step.broken('request', `the read ${line.q} that is answered was not sent`)
  const after = reads.get(line.q)
  reads.delete(line.q)
  if (line.f !== undefined) return
  if (line.q === reading) return sees(step, after)
  noteSeen(step, sightingOf(line))
}

/** Takes in the answer to a write. */
export function isAnswered(step: Step): void {
  const { replica, line } = step
  const sent = line.q === undefined ? undefined : replica.writes.get(line.q)
  if (sent === undefined || sent.isAnswered)
    return step.broken('request', `the write ${line.q} that is answered was not sent`)
  sent.isAnswered = true
  const isHeeded = heeds(step, sent)
  if (replica.inFlight === sent.q) replica.inFlight = undefined
  if (line.f !== 'unknown-outcome') replica.writes.delete(sent.q)
  if (line.f === undefined) hasHappened(step, sent, isHeeded)
  else hasFailed(step, sent, isHeeded)
}

function hasFailed(step: Step, sent: Sent, isHeeded: boolean): void {
  const { line, lease, place } = step
  // A check of a lease for life writes nothing.
  if (line.f !== 'unknown-outcome' && sent.i !== true) lease.noteRefused(sent, place)
  if (line.f === 'not-found' && isHeeded && sent.u !== 'acquire') isMissing(step)
}

/** The answer shows the lease as the write has left it. */
function hasHappened(step: Step, sent: Sent, isHeeded: boolean): void {
  const { replica, line } = step
  const seen = sightingOf(line)
  if (!isPresent(seen)) return step.broken('format', 'the answer to a write has no record')
  noteVersion(step, seen)
  judgeStored(step, sent, { version: seen.version, record: seen.record })
  if (sent.isAcknowledged || !isHeeded) return
  const { view } = replica
  // The lease is no longer as the late answer to an acquisition shows it.
  if (sent.u === 'acquire' && isLate(sent, seen, view)) return
  const isOlder = sent.i === true && view?.record !== undefined && seen.version < view.version
  acknowledge(step, sent, isOlder ? view : seen)
}

/** Whether the lease was seen in a newer version since an acquisition that is answered now. */
function isLate({ base }: Sent, seen: Sighting, view: View | undefined): boolean {
  if (view === undefined || seen.version > view.version) return false
  return view.record === undefined ? base !== undefined : base === undefined || view.version > base
}

/**
 * A write makes a newer version with its record. A write that only checks a lease for life makes none. It finds the record of its term that is
 * stored, which may be an earlier one in a restored store.
 */
function judgeStored(
  step: Step,
  { q, r, base, i: isCheck }: Sent,
  { version, record }: { readonly version: Version; readonly record: TraceRecord },
): void {
  const isRight = isCheck === true ? isOfTerm(r, record) : isWrittenAs(record, r)
  if (!isRight) return step.broken('store', `the answer shows another record than the write ${q}`)
  // Version 0 is that there is no lease.
  if (isCheck === true || step.lease.mayRestore) return
  if (version > (base ?? 0)) {
    if (base !== undefined) step.lease.noteReplaced(base, version, step.place)
    return
  }
  step.broken('store', `the write ${q} on version ${base ?? 0} became version ${version}`)
}

/** The answer to a write of the holder shows that the lease was deleted. */
function isMissing(step: Step): void {
  const missing: Sighting = { version: 0, counted: 0, record: undefined, isDeleting: false }
  const { replica, line } = step
  const last = replica.view && endedView(replica.view, line.t)
  replica.view = nextView(last, missing, line.t, viewerOf(replica, false))
  loses(step)
}

/** Whether the elector waits for this answer. Otherwise the watch tells. */
function heeds({ before, replica }: Step, { u, q }: Sent): boolean {
  return u === 'acquire' ? before === 'acquiring' : HOLDING.has(before) && q === replica.inFlight
}

function noteSeen(step: Step, seen: Sighting): void {
  const { lease, line, place } = step
  if (isPresent(seen)) noteVersion(step, seen)
  else if (line.v !== undefined) lease.noteMissing(seen.version, place)
}

/** Whether the lease was seen, and not that it was missing. */
function isPresent(seen: Sighting): seen is Sighting & Content {
  return seen.record !== undefined
}

function noteVersion({ replica, lease, place, line }: Step, seen: Sighting & Content): void {
  const { version, record } = seen
  lease.noteVersion(version, seen, place, { machine: replica.header.machine, at: line.m })
  replica.seen.add(version, record)
  if (replica.firstVersion !== undefined) return
  replica.firstVersion = version
  lease.noteFirst(replica.identity, version)
}

/** A write of this replica that the record shows. A write that only checks a lease for life is known by its answer alone. */
function landedWrite({ replica }: Step, record: TraceRecord): Sent | undefined {
  let landed: Sent | undefined
  for (const sent of replica.writes.values()) {
    if (sent.isAcknowledged || sent.i === true || sent.u === 'answer' || sent.u === 'announce') continue
    if (isWrittenAs(record, sent.r)) landed = sent
  }
  return landed
}

/** Only where the store may be restored; `store` is broken otherwise. */
function isRestored(step: Step, seen: Sighting, what: string): void {
  const { replica, lease, line, before } = step
  if (!lease.mayRestore) step.broken('store', what)
  // The store may have lost the acquisition of another holder. While this replica holds the lease, there is none.
  const unseenMs = HOLDING.has(before) ? 0 : replica.header.leaseMs
  restart(step, firstView(seen, line.t, line.t + unseenMs))
}

function isReused(step: Step, seen: Sighting): void {
  if (step.before === 'acquiring' || step.before === 'aborting') return
  isRestored(step, seen, `version ${seen.version} has another record than before`)
}

function restart(step: Step, view: View): void {
  const { replica, before } = step
  const own = replica.view?.record
  const isOfTerm = own !== undefined && view.record?.h === own.h && view.record.a === own.a
  replica.view = view
  replica.inFlight = undefined
  if (HOLDING.has(before)) {
    if (isOfTerm) return
    noteEpoch(replica, own, view)
    return loses(step)
  }
  replica.own = undefined
  replica.nonces.clear()
  for (const [q, sent] of replica.writes) {
    if (sent.isAnswered) replica.writes.delete(q)
    // Its answer may still come, and shows nothing.
    else sent.isAcknowledged = true
  }
}

function observe(step: Step, seen: Sighting): void {
  const { replica, before, line } = step
  const last = replica.view
  noteEpoch(replica, last?.record, seen)
  if (!HOLDING.has(before) || last?.record === undefined) return follows(replica, seen, line)
  if (seen.record === undefined || isOfLaterTerm(last, seen)) {
    noteHeldMs(replica, seen)
    replica.view = nextView(endedView(last, line.t), seen, line.t, viewerOf(replica, line.e === 'observed'))
    return loses(step)
  }
  replica.view = firstView(seen, line.t, line.t)
  if (!isWrittenAs(seen.record, last.record)) return loses(step)
  if (!isSameRecord(seen.record, last.record)) cut(replica, seen.record, line.t)
}

/** Whether another term than the own one is seen, or the name of a holder, and not an older version of a restored store. */
function isOfLaterTerm({ record: own, version }: View, { record, version: seen }: Sighting): boolean {
  return own !== undefined && record !== undefined && record.a !== own.a && seen > version
}

/** An elector that knows that it holds the lease forgets its other acquisitions. */
function forgetOthers(replica: Replica, { q }: Sent): void {
  if (q !== replica.lastAcquire) replica.lastAcquire = undefined
}

/** A replica that does not hold the lease sees it. */
function follows(replica: Replica, seen: Sighting, { t, e }: Line): void {
  forgetCreation(replica, seen)
  noteHeldMs(replica, seen)
  replica.view = nextView(replica.view, seen, t, viewerOf(replica, e !== 'read-answer'))
}

function viewerOf({ header, coordination, isWatching }: Replica, isByWatch: boolean): Viewer {
  const { leaseMs, heldForLife, missingLease } = header
  return { leaseMs, heldForLife, missingLease, coordination, sawAll: isWatching && isByWatch }
}

/** An elector that sees the lease forgets that it may have created it. */
function forgetCreation(replica: Replica, { record }: Sighting): void {
  const last = replica.lastAcquire === undefined ? undefined : replica.writes.get(replica.lastAcquire)
  if (record !== undefined && last?.isAnswered === true && last.base === undefined) replica.lastAcquire = undefined
}

/** Notes how long holders for life protect their lease. */
function noteHeldMs(replica: Replica, { record }: Sighting): void {
  if (replica.header.heldForLife && record !== undefined && record.h !== '')
    replica.longestHeldMs = Math.max(replica.longestHeldMs, durationMs(record))
}

function loses(step: Step): void {
  step.isLost = true
  step.replica.lose()
}

/** The greatest known epoch. The term of a new record began with its version at the latest. */
function noteEpoch(replica: Replica, before: TraceRecord | undefined, seen: Sighting): void {
  const { record } = seen
  if (record === undefined) return
  const isOfSeenTerm =
    before !== undefined && (record.h === '' ? record.n === before.n : record.h === before.h && record.a === before.a)
  if (!isOfSeenTerm) replica.highestEpoch = greatest(replica.highestEpoch, epochSeen(seen))
}

/** A write is known to have happened. */
function acknowledge(step: Step, sent: Sent, seen: Sighting): void {
  const { replica, line, before } = step
  const held = replica.view?.record
  sent.isAcknowledged = true
  replica.inFlight = undefined
  // A follower that sees its own release still waits for its read.
  if (sent.u === 'acquire' || HOLDING.has(before)) replica.reading = undefined
  if (sent.u === 'acquire') {
    forgetOthers(replica, sent)
    acquires(step, sent, seen)
    step.acquired = sent
  } else if (HOLDING.has(before)) renews(replica, sent, held)
  // A transfer shows the epoch of the term after its own.
  noteEpoch(replica, held, seen)
  replica.own = sent.u === 'transfer' ? undefined : sent.r
  replica.existed = true
  replica.view = firstView(seen, line.t, line.t)
  const { record } = seen
  if (record !== undefined && record.h === replica.identity && !isSameRecord(record, sent.r))
    cut(replica, record, line.t)
}

function sightingOf({ v, k, r, x }: Line): Sighting {
  const version = v === undefined ? 0 : versionOf(v)
  return { version, counted: k === undefined ? version : versionOf(k), record: r, isDeleting: x === true }
}
