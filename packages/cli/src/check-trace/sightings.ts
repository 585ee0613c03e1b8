import type { TraceLine, TraceRecord } from '@tenure/core/internal'
import { ms } from './lease-run.ts'
import {
  epochOf,
  greatest,
  isRenewalInWholeSeconds,
  isSameRecord,
  isWrittenAs,
  statedMs,
  type Version,
  versionOf,
} from './records.ts'
import { HOLDING, type Replica, type Sent } from './replica.ts'
import type { Step } from './step.ts'
import { epochSeen, firstView, nextView, type Sighting, type View } from './view.ts'

/*
 * What a replica sees of the lease, and what that entitles it to.
 */

/** Takes in the lease that the watch or a read shows. `after` is the newest version that was known when the read was sent. */
export function sees(step: Step, after?: Version): void {
  const { replica, line } = step
  const seen = sightingOf(line)
  const last = replica.view
  if (seen.record !== undefined) noteVersion(step, seen.version, seen.record)
  if (last?.record !== undefined && line.v !== undefined) {
    if (after !== undefined && seen.version < after)
      return isRestored(step, seen, `a read finds version ${seen.version} after ${after}`)
    if (seen.version < last.version) return
    if (seen.version === last.version) {
      const isSame = seen.record !== undefined && isSameRecord(seen.record, last.record)
      if (!isSame) isReused(step, seen)
      return
    }
  }
  const landed = seen.record && landedWrite(step, seen.record)
  if (landed !== undefined) acknowledge(step, landed, seen)
  else observe(step, seen)
  replica.existed ||= seen.record !== undefined
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
  const { version, record } = sightingOf(line)
  if (record !== undefined) noteVersion(step, version, record)
}

/** Takes in the answer to a write. */
export function isAnswered(step: Step): void {
  const { replica, line } = step
  const sent = line.q === undefined ? undefined : replica.writes.get(line.q)
  if (sent === undefined || sent.isAnswered)
    return step.broken('request', `the write ${line.q} that is answered was not sent`)
  sent.isAnswered = true
  const heeded = isHeeded(step, sent)
  if (replica.inFlight === sent.q) replica.inFlight = undefined
  if (line.f !== undefined) {
    if (line.f !== 'unknown-outcome') replica.writes.delete(sent.q)
    if (line.f === 'not-found' && heeded && sent.u !== 'acquire') isMissing(step)
    return
  }
  replica.writes.delete(sent.q)
  const seen = sightingOf(line)
  if (seen.record === undefined) return step.broken('format', 'the answer to a write has no record')
  noteVersion(step, seen.version, seen.record)
  const isCheck = sent.i === true
  if (!isWrittenAs(seen.record, sent.r))
    step.broken('store', `the answer shows another record than the write ${sent.q}`)
  else if (sent.base !== undefined && !isCheck && seen.version <= sent.base && !step.lease.mayRestore)
    step.broken('store', `the write ${sent.q} on version ${sent.base} became version ${seen.version}`)
  if (sent.isAcknowledged || !heeded) return
  const { view } = replica
  const isOlder = isCheck && view?.record !== undefined && seen.version < view.version
  acknowledge(step, sent, isOlder ? view : seen)
}

/** The answer to a write of the holder shows that the lease was deleted. */
function isMissing(step: Step): void {
  const missing: Sighting = { version: 0, counted: 0, record: undefined, isDeleting: false }
  step.replica.view = firstView(missing, step.line.t, step.line.t)
  loses(step)
}

/** Whether the elector waits for this answer. Otherwise the watch tells. */
function isHeeded({ before, replica }: Step, { u, q }: Sent): boolean {
  return u === 'acquire' ? before === 'acquiring' : HOLDING.has(before) && q === replica.inFlight
}

function noteVersion({ replica, lease, place }: Step, version: Version, record: TraceRecord): void {
  lease.noteVersion(version, record, place)
  replica.remember(version, record)
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
  const { replica, lease, line } = step
  if (!lease.mayRestore) step.broken('store', what)
  restart(step, firstView(seen, line.t, line.t + replica.header.leaseMs))
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
  if (HOLDING.has(before)) {
    if (!isOfTerm) loses(step)
    return
  }
  replica.own = undefined
  replica.nonces.clear()
  replica.writes.clear()
}

function observe(step: Step, seen: Sighting): void {
  const { replica, before, line } = step
  const last = replica.view
  noteEpoch(replica, last?.record, seen)
  if (!HOLDING.has(before)) {
    const { header, coordination, isWatching } = replica
    replica.view = nextView(last, seen, line.t, { leaseMs: header.leaseMs, coordination, isWatching })
    return
  }
  const held = last?.record
  replica.view = firstView(seen, line.t, line.t)
  if (seen.record === undefined || held === undefined || !isWrittenAs(seen.record, held)) return loses(step)
  if (!isSameRecord(seen.record, held)) cut(replica, seen.record, line.t)
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
  replica.reading = undefined
  if (sent.u === 'acquire') acquires(step, sent, seen)
  else if (HOLDING.has(before)) renews(replica, sent, held)
  replica.own = sent.u === 'transfer' ? undefined : sent.r
  replica.existed = true
  replica.view = firstView(seen, line.t, line.t)
  const { record } = seen
  if (record !== undefined && record.h === replica.identity && !isSameRecord(record, sent.r))
    cut(replica, record, line.t)
}

function acquires(step: Step, sent: Sent, seen: Sighting): void {
  const { replica, line } = step
  const { header, actNotBefore } = replica
  const epoch = epochOf(seen.counted, seen.record ?? sent.r)
  if (epoch <= replica.highestEpoch)
    step.broken(
      'S6',
      `the acquired epoch is ${epoch}, although ${replica.identity} knows epoch ${replica.highestEpoch}`,
    )
  const guard = guardOf(replica, sent, line)
  replica.actNotBefore = Math.max(actNotBefore, guard)
  replica.highestEpoch = greatest(replica.highestEpoch, epoch)
  if (header.wholeSeconds && sent.replaced !== undefined && !isRenewalInWholeSeconds(sent.replaced, sent.r)) return
  replica.validFrom = sent.sentAt
  replica.validUntil = sent.sentAt + replica.validityMs
  replica.uncut = undefined
  const isForeign = sent.replaced !== undefined && sent.replaced.h !== replica.identity
  const caution = isForeign ? sent.sentAt + header.acquireDelayMs : -Infinity
  replica.grant = { epoch, actFrom: Math.max(caution, replica.actNotBefore) }
}

/** Until when another leader may act that this replica could not see, or that a coordinator did not wait for. */
function guardOf(replica: Replica, sent: Sent, line: TraceLine): number {
  const unseen = replacesUnseen(replica, sent) ? line.t + replica.header.leaseMs : -Infinity
  return Math.max(unseen, namedGuard(replica, sent))
}

/** Whether a leader may act that has not seen that its lease was deleted, or that keeps it for life under this name. */
function replacesUnseen(replica: Replica, { replaced }: Sent): boolean {
  const { header, existed } = replica
  if (replaced === undefined) return existed || header.missingLease === 'wait'
  return header.heldForLife && isHeldForLife(replica, replaced) && !isOfTermOf(replica.own, replaced)
}

/** Whether a holder keeps the lease for life: it is not proved dead, and nobody transferred the lease to it. */
function isHeldForLife({ dead }: Replica, record: TraceRecord): boolean {
  return record.h !== '' && record.x === undefined && !isOfTermOf(dead, record)
}

function isOfTermOf(
  term: (Pick<TraceRecord, 'h'> & { readonly a?: string | undefined }) | undefined,
  record: TraceRecord,
): boolean {
  return term !== undefined && term.h === record.h && term.a === record.a
}

/** Until when the holder of before may act, where a coordinator has named this replica. */
function namedGuard({ identity, own, view }: Replica, { replaced }: Sent): number {
  const isNamed = replaced?.h === identity && replaced.x === undefined && !(own && isWrittenAs(replaced, own))
  return isNamed ? (view?.guardedUntil ?? -Infinity) : -Infinity
}

function renews(replica: Replica, sent: Sent, held: TraceRecord | undefined): void {
  const isSeen = !replica.header.wholeSeconds || (held !== undefined && isRenewalInWholeSeconds(held, sent.r))
  if (isSeen && sent.sentAt > replica.validFrom) {
    replica.validFrom = sent.sentAt
    replica.validUntil = sent.sentAt + replica.validityMs
  } else if (replica.uncut !== undefined) replica.validUntil = replica.uncut
  replica.uncut = undefined
}

/** Another client edited the record: the replica acts no longer than others respect that. */
function cut(replica: Replica, record: TraceRecord, now: number): void {
  const { header } = replica
  const grantedMs = statedMs(record) * (1 - header.tolerance)
  const limit = Math.max(replica.validFrom + grantedMs, now + Math.min(grantedMs, header.requestMs))
  if (limit >= replica.validUntil) return
  replica.uncut ??= replica.validUntil
  replica.validUntil = limit
}

/** How long a transfer protects its new holder. */
const TRANSFER_MS = 5000

/** Begins to hold a lease that was transferred to an answer of this replica. */
export function inherits(step: Step): void {
  const { replica, line } = step
  const { view, header } = replica
  const { record } = view ?? {}
  const sentAt = record?.x === undefined ? undefined : replica.nonces.get(record.x)
  if (view === undefined || record?.h !== replica.identity || sentAt === undefined)
    return step.broken(
      'begin',
      `${replica.identity} is ${line.s} without a write that is known to have happened, or a transfer to its answer`,
    )
  const grantedMs = Math.min(statedMs(record), TRANSFER_MS) * (1 - header.tolerance)
  const epoch = epochSeen(view)
  if (epoch < replica.highestEpoch)
    step.broken(
      'S6',
      `the transferred epoch is ${epoch}, although ${replica.identity} knows epoch ${replica.highestEpoch}`,
    )
  replica.validFrom = sentAt
  replica.validUntil = Math.min(sentAt + grantedMs, line.t + replica.validityMs)
  if (replica.validUntil <= line.t) step.broken('validity', `the answer is ${ms(line.t - sentAt)} old`)
  replica.uncut = undefined
  replica.own = record
  replica.highestEpoch = greatest(replica.highestEpoch, epoch)
  replica.grant = { epoch, actFrom: replica.actNotBefore }
  replica.nonces.clear()
}

function sightingOf({ v, k, r, x }: TraceLine): Sighting {
  const version = v === undefined ? 0 : versionOf(v)
  return { version, counted: k === undefined ? version : versionOf(k), record: r, isDeleting: x === true }
}
