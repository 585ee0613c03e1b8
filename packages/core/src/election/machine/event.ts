import type { LockFailure } from '../../lock/lock-request-error.ts'
import type { LockSnapshot, PresentLease } from '../../lock/lock.ts'
import type { InvoluntaryEndReason, VoluntaryEndReason } from '../leadership-ended-error.ts'

/** The moment at which an event is handled. All time and randomness of the machine comes in through it. */
export interface Instant {
  /** Monotonic milliseconds. */
  readonly now: number
  /** Wall-clock milliseconds; only ever formatted into a record. */
  readonly wallTime: number
  /** A fresh random number in [0, 1). */
  readonly random: number
}

/** A request that failed, as far as the machine needs to know. */
export interface RequestFailure {
  readonly kind: 'failed'
  readonly failure: LockFailure
  readonly retryAfterMs?: number | undefined
  readonly error: Error
}

/** What a write request came to. */
export type WriteResult = { readonly kind: 'written'; readonly lease: PresentLease } | RequestFailure

/** What a read request came to. */
export type ReadResult = { readonly kind: 'read'; readonly snapshot: LockSnapshot } | RequestFailure

/** How a voluntary end is asked for. */
export interface StepDown {
  readonly reason: VoluntaryEndReason
  /** How long to leave the lease to others afterwards. */
  readonly cooldownMs: number
  /** The only replica to transfer the lease to; any that answers where it is left out. */
  readonly to?: string
  /** How long an empty term waits for the answer of `to`. */
  readonly answerTimeoutMs?: number
}

/** Names one term of one holder. */
export interface TermKey {
  readonly identity: string
  readonly acquireTime: string | undefined
}

/** Everything that can happen to an elector. */
export type ElectorEvent =
  /** Stand for election. */
  | { readonly kind: 'start' }
  /** Give up what is held, in order, and stand no more. */
  | { readonly kind: 'stop' }
  /** End the present term voluntarily and follow again. */
  | ({ readonly kind: 'step-down' } & StepDown)
  /** The term cannot go on, for a reason that the machine cannot see. */
  | { readonly kind: 'lost'; readonly reason: InvoluntaryEndReason }
  /** The watch reports the lease. */
  | { readonly kind: 'observed'; readonly snapshot: LockSnapshot }
  | { readonly kind: 'watch-up' }
  | { readonly kind: 'watch-down' }
  | { readonly kind: 'write-answer'; readonly request: number; readonly result: WriteResult }
  | { readonly kind: 'read-answer'; readonly request: number; readonly result: ReadResult }
  /** Every task of the term has settled, and cleanups run. */
  | { readonly kind: 'cleaning' }
  /** The cleanups of a controller did not end in their own time. */
  | { readonly kind: 'cleanup-overdue' }
  /** Every task of the term has settled and every cleanup has run. */
  | { readonly kind: 'drained' }
  /** The process that ran this holder has ended and never runs again. */
  | { readonly kind: 'holder-dead'; readonly holder: TermKey }
  /** The time that `nextWakeAt` asked for has come. */
  | { readonly kind: 'wake' }

/** The event of one kind. */
export type EventOf<K> = Extract<ElectorEvent, { kind: K }>
