import type { LeaseRecord } from '../../lock/lease-record.ts'
import type { PresentLease } from '../../lock/lock.ts'
import type { Legacy } from '../rules/bequest.ts'
import type { EndReason } from '../leadership-ended-error.ts'

/** How a replica gave the lease up at the end of a term. */
export type TermOutcome =
  /** This replica released it. */
  | 'released'
  /** This replica transferred it to the successor. */
  | 'transferred'
  /** This replica did not release it. It expires. */
  | 'expired'
  /** Another replica holds it, or it was deleted. */
  | 'lost'

/** The purpose of a write. */
type WritePurpose = 'acquire' | 'renew' | 'release' | 'transfer' | 'answer' | 'announce'

/** What the driver must do. It carries out effects in order and does nothing else. */
export type ElectorEffect =
  | { readonly kind: 'read'; readonly request: number }
  | { readonly kind: 'write'; readonly request: number; readonly write: LeaseWrite }
  /** A term begins; act until `validUntil`. */
  | {
      readonly kind: 'begin-term'
      readonly epoch: bigint
      readonly validUntil: number
      readonly handoverMs: number
      readonly legacy: Legacy
    }
  | { readonly kind: 'extend-validity'; readonly validUntil: number }
  /** The lease was edited, so that others may acquire it earlier. */
  | { readonly kind: 'shorten-validity'; readonly validUntil: number }
  /** The term begins to end: its controllers take no new work. */
  | { readonly kind: 'end-term'; readonly reason: EndReason; readonly voluntary: boolean }
  /** The write gate closes, whatever the clock says. */
  | { readonly kind: 'close-gate' }
  /** The hard abort: tasks drop work in flight. */
  | { readonly kind: 'hard-abort' }
  /** The drain did not end in time. */
  | { readonly kind: 'wedged' }
  /** The process must exit: the drain is wedged, and nothing keeps other replicas from leading. */
  | { readonly kind: 'exit' }
  | {
      readonly kind: 'term-over'
      readonly outcome: TermOutcome
      /** The identity of the next holder; undefined unless `outcome` is `transferred`. */
      readonly successor: string | undefined
    }
  /** This replica has answered the offer of the leader, so a term may begin here soon. Controllers prepare and write nothing. */
  | { readonly kind: 'warm-up' }
  /** Follows a `warm-up` if no term begins here: another replica leads, or will. */
  | { readonly kind: 'warm-up-over' }
  /** The observed leader changed. `identity` is empty if the lease has no holder. */
  | { readonly kind: 'leader-observed'; readonly identity: string }
  | { readonly kind: 'renewed'; readonly elapsedMs: number }
  | { readonly kind: 'request-failed'; readonly purpose: WritePurpose | 'read'; readonly error: Error }
  /** Another live replica uses the same identity. Two leaders could have one name. */
  | { readonly kind: 'identity-taken'; readonly identity: string }
  | { readonly kind: 'stopped' }

/** A write of the lease. Without `base` it creates the lease; with it, it replaces exactly that version. */
export interface LeaseWrite {
  readonly purpose: WritePurpose
  readonly base?: PresentLease
  readonly record: LeaseRecord
}
