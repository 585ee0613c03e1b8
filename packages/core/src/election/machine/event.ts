import type { LockFailure } from '../../lock/lock-request-error.ts'
import type { LockSnapshot, PresentLease } from '../../lock/lock.ts'
import type { Bequest } from '../rules/bequest.ts'
import type { InvoluntaryEndReason, VoluntaryEndReason } from '../leadership-ended-error.ts'

/** The moment at which an event is handled: all time and randomness that the machine gets. */
export interface Instant {
  /** Monotonic milliseconds. */
  readonly now: number
  /** Wall-clock milliseconds. Only written into records. */
  readonly wallTime: number
  /** A new random number in [0, 1). */
  readonly random: number
}

/** A failed request. */
export interface RequestFailure {
  readonly kind: 'failed'
  readonly failure: LockFailure
  readonly retryAfterMs?: number | undefined
  readonly error: Error
}

/** The result of a write. */
export type WriteResult = { readonly kind: 'written'; readonly lease: PresentLease } | RequestFailure

/** The result of a read. */
export type ReadResult = { readonly kind: 'read'; readonly snapshot: LockSnapshot } | RequestFailure

/** The parameters of a voluntary end. */
export interface StepDown {
  readonly reason: VoluntaryEndReason
  /** How long this replica does not compete for the lease afterwards. */
  readonly cooldownMs: number
  /** The replica that must get the lease. If undefined, any replica that answers may get it. */
  readonly to?: string
  /** How long an empty term waits for an answer of `to`. */
  readonly answerTimeoutMs?: number
}

/** Names one term of one holder. */
export interface TermKey {
  readonly identity: string
  readonly acquireTime: string | undefined
}

/** An event of an elector. */
export type ElectorEvent =
  /** Start to compete for the lease. */
  | { readonly kind: 'start' }
  /** Drain and release what is held, and stop. */
  | { readonly kind: 'stop' }
  /** End the present term voluntarily and follow again. */
  | ({ readonly kind: 'step-down' } & StepDown)
  /** The term cannot continue, for a reason that the machine cannot see. */
  | { readonly kind: 'lost'; readonly reason: InvoluntaryEndReason }
  /** The watch reports the lease. */
  | { readonly kind: 'observed'; readonly snapshot: LockSnapshot }
  | { readonly kind: 'watch-up' }
  | { readonly kind: 'watch-down' }
  | { readonly kind: 'write-answer'; readonly request: number; readonly result: WriteResult }
  | { readonly kind: 'read-answer'; readonly request: number; readonly result: ReadResult }
  /** Every task of the term has settled, and cleanups run. */
  | { readonly kind: 'cleaning' }
  /** The cleanups of a controller missed their timeout. */
  | { readonly kind: 'cleanup-overdue' }
  /** Every task of the term has settled and every cleanup has run. */
  | { readonly kind: 'drained'; readonly bequest?: Bequest | undefined }
  /** The process of this holder has ended and will never run again. */
  | { readonly kind: 'holder-dead'; readonly holder: TermKey }
  /** The time that `nextWakeAt` asked for has come. */
  | { readonly kind: 'wake' }

/** The event of one kind. */
export type EventOf<K> = Extract<ElectorEvent, { kind: K }>
