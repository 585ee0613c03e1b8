import type { LeaseRecord } from '../../lock/lease-record.ts'
import type { TermKey } from '../machine/event.ts'

/** Whether a record belongs to this term. */
export function isTermOf(record: LeaseRecord | undefined, term: TermKey | undefined): boolean {
  if (record === undefined || term === undefined) return false
  return record.holderIdentity === term.identity && record.acquireTime === term.acquireTime
}

/** The term that a record belongs to. */
export function termOf(record: LeaseRecord): TermKey {
  return { identity: record.holderIdentity, acquireTime: record.acquireTime }
}
