import type { WarmUpOutcome } from '../controller/warm-up.ts'
import type { EndReason } from '../election/leadership-ended-error.ts'
import type { TermOutcome } from '../election/machine/effect.ts'
import type { LiveTask } from '../term/task-scope.ts'

/** What a candidacy is doing, with the data that belong to it. `JSON.stringify()` takes it: epochs become decimal strings. */
export type CandidacyState =
  | { readonly kind: 'idle' }
  | { readonly kind: 'following'; readonly observedLeader: string | undefined }
  | { readonly kind: 'acquiring' }
  | { readonly kind: 'leading'; readonly epoch: bigint }
  | { readonly kind: 'draining'; readonly epoch: bigint; readonly reason: EndReason }
  | { readonly kind: 'releasing'; readonly epoch: bigint | undefined }
  | { readonly kind: 'wedged'; readonly epoch: bigint; readonly tasks: readonly LiveTask[] }
  | { readonly kind: 'stopped' }

/** How a drain went: tasks ended by themselves, had to be aborted, or did not end in time (and perhaps later). */
export type DrainOutcome = 'clean' | 'aborted' | 'wedged'

/**
 * Something that happened to a candidacy. `lease` names the lease in every event. `JSON.stringify()` takes every event: epochs
 * become decimal strings, errors their name, message, code and cause.
 */
export type CandidacyEvent = { readonly lease: string } & (
  | { readonly kind: 'state'; readonly from: CandidacyState; readonly to: CandidacyState }
  /** Somebody else, or nobody (the empty string), is seen to lead. */
  | { readonly kind: 'leader-observed'; readonly identity: string }
  | { readonly kind: 'term-began'; readonly epoch: bigint; readonly handoverMs: number }
  | { readonly kind: 'term-ending'; readonly epoch: bigint; readonly reason: EndReason }
  | TermOverEvent
  | { readonly kind: 'renewed'; readonly elapsedMs: number; readonly remainingMs: number }
  | { readonly kind: 'request-failed'; readonly purpose: string; readonly error: Error }
  | {
      readonly kind: 'controller-failed'
      readonly controller: string
      readonly error: unknown
      /** Undefined when it is not restarted. */
      readonly restartInMs: number | undefined
    }
  /** A controller has warmed up ahead of its term, or that has failed, or nothing came of it. */
  | {
      readonly kind: 'warm-up'
      readonly controller: string
      readonly outcome: WarmUpOutcome['kind']
      /** Why it failed; undefined otherwise. */
      readonly error: unknown
    }
  | { readonly kind: 'wedged'; readonly epoch: bigint; readonly tasks: readonly LiveTask[] }
)

/** A term is over: nothing of it is left. */
export interface TermOverEvent {
  readonly kind: 'term-over'
  readonly epoch: bigint
  readonly reason: EndReason
  /** What became of the lease. */
  readonly outcome: TermOutcome
  /** Whom the lease was transferred to; undefined unless `outcome` is `transferred`. */
  readonly successor: string | undefined
  readonly drain: DrainOutcome
  readonly durationMs: number
  readonly drainMs: number
  /** What failed while the term ended. */
  readonly errors: readonly unknown[]
}
