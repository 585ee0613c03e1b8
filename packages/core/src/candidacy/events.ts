import type { WarmUpOutcome } from '../controller/warm-up.ts'
import type { EndReason } from '../election/leadership-ended-error.ts'
import type { TermOutcome } from '../election/machine/effect.ts'
import type { LiveTask } from '../term/task-scope.ts'

/**
 * The state of a candidacy. `JSON.stringify()` accepts it and writes epochs as decimal strings.
 *
 * - `observedLeader`: the identity in the lease. Empty when the lease has no holder, undefined before it was read.
 * - `epoch`: the fencing token of the term. Undefined when a lease is released before its term began.
 * - `reason`: why the term ends.
 * - `tasks`: the tasks that did not end in time.
 */
export type CandidacyState =
  | { readonly kind: 'idle' }
  | { readonly kind: 'following'; readonly observedLeader: string | undefined }
  | { readonly kind: 'acquiring' }
  | { readonly kind: 'leading'; readonly epoch: bigint }
  | { readonly kind: 'draining'; readonly epoch: bigint; readonly reason: EndReason }
  | { readonly kind: 'releasing'; readonly epoch: bigint | undefined }
  | { readonly kind: 'wedged'; readonly epoch: bigint; readonly tasks: readonly LiveTask[] }
  | { readonly kind: 'stopped' }

/**
 * How a drain ended. `clean`: every task ended by itself. `aborted`: tasks needed the hard abort. `wedged`: tasks missed the deadline,
 * even if they ended later.
 */
export type DrainOutcome = 'clean' | 'aborted' | 'wedged'

/**
 * An event of a candidacy. `lease` is the name of the lease. `JSON.stringify()` accepts every event: it writes epochs as decimal strings,
 * and errors as name, message, code and cause.
 *
 * - `epoch`: the fencing token of the term. `reason`: why the term ends. `tasks`: the tasks that did not end in time.
 * - `handoverMs`: from when this replica saw that the lease was free to the beginning of the term, in milliseconds.
 * - `elapsedMs`: how long the renewal took, in milliseconds. `remainingMs`: how long the term may last without another renewal.
 * - `purpose`: what the failed request was for, such as `acquire`, `renew` or `read`.
 * - `controller`: the name of the controller. `outcome`: how its warm-up went.
 */
export type CandidacyEvent = { readonly lease: string } & (
  | { readonly kind: 'state'; readonly from: CandidacyState; readonly to: CandidacyState }
  /** The observed leader changed. An empty `identity` means that the lease has no holder. */
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
      /** Undefined if the controller is not restarted. */
      readonly restartInMs: number | undefined
    }
  /** A warm-up is ready, has failed, or was cancelled. */
  | {
      readonly kind: 'warm-up'
      readonly controller: string
      readonly outcome: WarmUpOutcome['kind']
      /** Why the warm-up failed; undefined otherwise. */
      readonly error: unknown
    }
  | { readonly kind: 'wedged'; readonly epoch: bigint; readonly tasks: readonly LiveTask[] }
)

/** A term has ended, and nothing of it is left. */
export interface TermOverEvent {
  readonly kind: 'term-over'
  /** The fencing token of the term. */
  readonly epoch: bigint
  /** Why the term ended. */
  readonly reason: EndReason
  /** How the replica gave the lease up. */
  readonly outcome: TermOutcome
  /** The identity of the next holder; undefined unless `outcome` is `transferred`. */
  readonly successor: string | undefined
  /** How the drain went. */
  readonly drain: DrainOutcome
  /** From the beginning of the term to its end, in milliseconds, drain included. */
  readonly durationMs: number
  /** How long the drain took, in milliseconds. */
  readonly drainMs: number
  /** Errors of tasks and cleanups while the term ended. */
  readonly errors: readonly unknown[]
}
