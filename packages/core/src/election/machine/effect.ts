import type { LeaseRecord } from '../../lock/lease-record.ts'
import type { PresentLease } from '../../lock/lock.ts'
import type { EndReason } from '../leadership-ended-error.ts'

/** What became of the lease when a term was over. */
export type TermOutcome =
  /** Freed by this replica. */
  | 'released'
  /** Handed to the successor that the transfer names. */
  | 'transferred'
  /** Not freed: it expires. */
  | 'expired'
  /** Somebody else holds it, or it is gone. */
  | 'lost'

/** Why a write is sent. */
type WritePurpose = 'acquire' | 'renew' | 'release' | 'transfer' | 'answer' | 'announce'

/** What the machine wants done. Carried out in order by the driver; nothing else acts. */
export type ElectorEffect =
  | { readonly kind: 'read'; readonly request: number }
  | { readonly kind: 'write'; readonly request: number; readonly write: LeaseWrite }
  /** A term begins; act until `validUntil`. */
  | { readonly kind: 'begin-term'; readonly epoch: bigint; readonly validUntil: number; readonly handoverMs: number }
  | { readonly kind: 'extend-validity'; readonly validUntil: number }
  /** Somebody edited the lease, so that others may take it earlier. */
  | { readonly kind: 'shorten-validity'; readonly validUntil: number }
  /** The term begins to end: take no new work. */
  | { readonly kind: 'end-term'; readonly reason: EndReason; readonly voluntary: boolean }
  /** Refuse writes of the term from now on, whatever the clock says. */
  | { readonly kind: 'close-gate' }
  /** Drop what is in flight. */
  | { readonly kind: 'hard-abort' }
  /** The drain did not end in time. */
  | { readonly kind: 'wedged' }
  /** End the process: the drain is wedged, and nothing keeps others from leading. */
  | { readonly kind: 'exit' }
  | {
      readonly kind: 'term-over'
      readonly outcome: TermOutcome
      /** Whom the lease was transferred to; undefined for every other outcome. */
      readonly successor: string | undefined
    }
  /** This replica is the one that answered the leader's offer: a term is likely to begin here soon. Prepare, write nothing. */
  | { readonly kind: 'warm-up' }
  /** Follows every `warm-up` that no `begin-term` follows: somebody else leads, or will. */
  | { readonly kind: 'warm-up-over' }
  /** Another identity is seen to lead; empty when nobody does. */
  | { readonly kind: 'leader-observed'; readonly identity: string }
  | { readonly kind: 'renewed'; readonly elapsedMs: number }
  | { readonly kind: 'request-failed'; readonly purpose: WritePurpose | 'read'; readonly error: Error }
  /** The identity of this replica is used by another live one: standing on would be two leaders under one name. */
  | { readonly kind: 'identity-taken'; readonly identity: string }
  | { readonly kind: 'stopped' }

/** A write of the lease. Without `base` it creates the lease; with it, it replaces exactly that version. */
export interface LeaseWrite {
  readonly purpose: WritePurpose
  readonly base?: PresentLease
  readonly record: LeaseRecord
}
