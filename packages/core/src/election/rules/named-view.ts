import type { LeaseRecord } from '../../lock/lease-record.ts'
import type { ElectorConfig } from '../machine/config.ts'
import type { PresentView, View } from '../machine/state.ts'
import { isSameRecord } from './records.ts'
import { readTransferNonce } from './transfer-notes.ts'
import { endOf, heldMs, recordOf, type ViewContext } from './view.ts'

/**
 * A lease in which a coordinator names a holder. The coordinator compares the clocks of others, so the holder of before may still act:
 * it is protected as if nobody was named, also where this replica believes that the replicas decide. The new holder acquires the lease and
 * waits for that before it acts. A transfer proves that the holder of before has ended. Its last renewals may go unseen before the first
 * view, in a read, and while the watch is disconnected. A holder in between may as well; its transition shows that.
 */
export function namedView(view: PresentView, last: View | undefined, { sawAll, at, config }: ViewContext): View {
  const { coordination, timing } = config
  if (!isNamed(view.lease.record, last, { coordination, sawAll })) return view
  const unseenUntil = at.now + Math.max(timing.leaseDurationMs, heldMs(last))
  const isDirect = sawAll && last !== undefined && isNext(last, view.lease.record)
  return { ...view, guardedUntil: isDirect ? (endOf(last) ?? at.now) : unseenUntil }
}

/** Whether a coordinator may have named the holder of a record, who may be the holder of before. It states no acquire time. */
function isNamed(
  record: LeaseRecord,
  last: View | undefined,
  { coordination, sawAll }: Pick<ElectorConfig, 'coordination'> & Pick<ViewContext, 'sawAll'>,
): boolean {
  if (coordination === undefined) return false
  const isWithoutTime = record.holderIdentity !== '' && record.acquireTime === undefined
  if (last === undefined) return isWithoutTime
  return isWithoutTime
    ? !isNamedAlike(last, record, sawAll)
    : coordination === 'server' && isAnotherHolder(last, record, sawAll)
}

/**
 * Whether the last view already showed a coordinator's record with the same holder. After a gap, a later record of that holder may follow on
 * another holder that went unseen.
 */
function isNamedAlike(last: View, record: LeaseRecord, sawAll: boolean): boolean {
  if (last.kind === 'absent') return false
  const before = last.lease.record
  const isAlike = before.holderIdentity === record.holderIdentity && before.acquireTime === undefined
  return isAlike && (sawAll || isSameRecord(before, record))
}

/** Whether no holder has acquired the lease between two views. */
function isNext(last: View, { leaseTransitions }: LeaseRecord): boolean {
  return leaseTransitions === (last.kind === 'present' ? last.lease.record.leaseTransitions : undefined)
}

/**
 * Whether a record has a holder that the last view did not have, and that no transfer made. After a gap, a later term of the same holder may follow
 * on another holder that went unseen.
 */
function isAnotherHolder(last: View, record: LeaseRecord, sawAll: boolean): boolean {
  const before = recordOf(last)
  const isSame =
    before?.holderIdentity === record.holderIdentity && (sawAll || before.acquireTime === record.acquireTime)
  return record.holderIdentity !== '' && !isSame && readTransferNonce(record) === undefined
}
