import type { LeaseRecord } from '../../lock/lease-record.ts'
import type { PresentLease } from '../../lock/lock.ts'
import type { TransitionContext } from '../machine/config.ts'
import type { View } from '../machine/state.ts'
import { statedMs } from './records.ts'

/** What a view is made of, besides the lease and the last view. */
export interface ViewContext extends TransitionContext {
  /** Whether no change was missed since the last view. */
  readonly sawAll: boolean
}

/** The duration that the last seen holder stated, in milliseconds; also after the deletion of its lease. 0 if none was seen. */
export function heldMs(last: View | undefined): number {
  if (last === undefined) return 0
  return last.kind === 'present' ? durationMs(last.lease) : (last.heldMs ?? 0)
}

/** Until when a holder may act that this view shows, or a holder before it; undefined if none was seen. */
export function endOf(view: View): number | undefined {
  if (view.kind === 'absent' || view.lease.record.holderIdentity === '') return view.guardedUntil
  return Math.max(view.guardedUntil, view.changedAt + durationMs(view.lease))
}

/** The record that a view shows. */
export function recordOf(view: View | undefined): LeaseRecord | undefined {
  return view?.kind === 'present' ? view.lease.record : undefined
}

/** A record without a usable duration protects its holder for the longest default duration of other clients. */
const DURATION_OF_UNREADABLE_RECORD_MS = 15_000

/** How long others do not acquire a lease after they last saw it change. */
export function durationMs({ record }: PresentLease): number {
  return statedMs(record) || DURATION_OF_UNREADABLE_RECORD_MS
}
