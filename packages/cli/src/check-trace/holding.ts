import type { TraceRecord } from '@tenure/core/internal'
import { ms } from './times.ts'
import { epochOf, greatest, isOfTerm, isRenewalInWholeSeconds, isWrittenAs, statedMs } from './records.ts'
import type { Replica, Sent } from './replica.ts'
import type { Line } from './shape.ts'
import type { Step } from './step.ts'
import { epochSeen, isReleased, lastHeldMs, type Sighting } from './view.ts'

/*
 * What entitles a replica to act, and until when.
 */

/** An acquisition is known to have happened. */
export function acquires(step: Step, sent: Sent, seen: Sighting): void {
  const { replica, line } = step
  const { header, actNotBefore } = replica
  const epoch = epochOf(seen.counted, seen.record ?? sent.r)
  const isUsed = epoch <= replica.highestEpoch
  const guard = guardOf(replica, sent, line)
  replica.actNotBefore = Math.max(actNotBefore, guard)
  replica.replaced = line.g && { record: line.g, actNotBefore }
  replica.highestEpoch = greatest(replica.highestEpoch, epoch)
  const isUnseen = header.wholeSeconds && sent.replaced !== undefined && !isRenewalInWholeSeconds(sent.replaced, sent.r)
  if (isUsed || isUnseen) {
    // Another term has had this epoch, or other clients do not see this acquisition. A replica that stops may still release it.
    replica.grant = { epoch, actFrom: Infinity }
    return
  }
  replica.validFrom = sent.sentAt
  replica.validUntil = sent.sentAt + replica.validityMs
  replica.uncut = undefined
  const isForeign = sent.replaced !== undefined && sent.replaced.h !== replica.identity
  const caution = isForeign ? sent.sentAt + header.acquireDelayMs : -Infinity
  replica.grant = { epoch, actFrom: Math.max(caution, replica.actNotBefore) }
}

/** The holder of the deleted lease is proved dead: this replica need not wait for it. */
export function ceasesToWait(replica: Replica): void {
  const { replaced, grant } = replica
  if (replaced === undefined) return
  replica.actNotBefore = replaced.actNotBefore
  replica.grant = grant && { ...grant, actFrom: replaced.actNotBefore }
  replica.replaced = undefined
}

/** Until when another leader may act that this replica could not see, or that a coordinator did not wait for. */
function guardOf(replica: Replica, sent: Sent, line: Line): number {
  const unseen = replacesUnseen(replica, sent, line) ? deletedUntil(replica, line) : -Infinity
  return Math.max(unseen, namedGuard(replica, sent))
}

/** Until when the leader of a deleted lease may act. It may have had another duration: in a rollout, replicas differ. */
function deletedUntil({ header, longestHeldMs, view }: Replica, { t }: Line): number {
  return Math.max(t + Math.max(header.leaseMs, longestHeldMs, lastHeldMs(view)), view?.guardedUntil ?? -Infinity)
}

/** Whether a leader may act that has not seen that its lease was deleted, or that keeps it for life under this name. */
function replacesUnseen(replica: Replica, { replaced }: Sent, line: Line): boolean {
  const { header, existed } = replica
  if (replaced === undefined) return !followsEnded(replica, line) && (existed || header.missingLease === 'wait')
  return isHeldForLife(replica, replaced) && !isOfTerm(replica.own, replaced)
}

/** Whether the lease was created directly after one whose holder is proved dead, or that was released. An edit is no release. */
function followsEnded({ dead, view }: Replica, { g: deleted, t }: Line): boolean {
  if (deleted === undefined) return false
  const isGuarded = view !== undefined && view.guardedUntil > t
  return isOfTerm(dead, deleted) || (isReleased(deleted) && !isGuarded)
}

/** Whether a holder keeps the lease for life: it is not proved dead. A transferred lease expires until its new holder has renewed it. */
export function isHeldForLife({ header, dead }: Replica, record: TraceRecord): boolean {
  return header.heldForLife && record.h !== '' && record.x === undefined && !isOfTerm(dead, record)
}

/** Until when the holder of before may act, where a coordinator has named this replica. */
function namedGuard({ identity, own, view }: Replica, { replaced }: Sent): number {
  const isNamed = replaced?.h === identity && replaced.x === undefined && !(own && isWrittenAs(replaced, own))
  return isNamed ? (view?.guardedUntil ?? -Infinity) : -Infinity
}

/** A write of the holder is known to have happened. `held` is what it replaced. */
export function renews(replica: Replica, sent: Sent, held: TraceRecord | undefined): void {
  const isSeen = !replica.header.wholeSeconds || (held !== undefined && isRenewalInWholeSeconds(held, sent.r))
  if (isSeen && sent.sentAt > replica.validFrom) {
    replica.validFrom = sent.sentAt
    replica.validUntil = sent.sentAt + replica.validityMs
  } else if (replica.uncut !== undefined) replica.validUntil = replica.uncut
  replica.uncut = undefined
}

/** Another client edited the record: the replica acts no longer than others respect that. */
export function cut(replica: Replica, record: TraceRecord, now: number): void {
  const { header } = replica
  const grantedMs = statedMs(record) * (1 - header.tolerance)
  const limit = Math.max(replica.validFrom + grantedMs, now + Math.min(grantedMs, header.requestMs))
  if (limit >= replica.validUntil) return
  replica.uncut ??= replica.validUntil
  replica.validUntil = limit
}

/** How long a transfer protects its new holder. */
export const TRANSFER_MS = 5000

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
