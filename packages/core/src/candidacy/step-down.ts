import type { ElectorConfig } from '../election/machine/config.ts'
import type { TermOutcome } from '../election/machine/effect.ts'
import type { StepDown } from '../election/machine/event.ts'
import { withJsonForm } from '../json-form.ts'
import { JITTER_FACTOR } from '../jitter.ts'
import { resolveDurationMs } from '../options/duration.ts'
import { assertKnownKeys } from '../options/known-keys.ts'
import { OptionsError } from '../options/options-error.ts'
import type { StepDownOptions } from '../term/term.ts'
import type { DrainOutcome, TermOverEvent } from './events.ts'

/**
 * The result of a step-down. `JSON.stringify()` accepts it and writes the epoch as a decimal string. `drain` says how the drain of the
 * term went, and `drainMs` how long it took, in milliseconds.
 */
export type StepDownResult =
  | { readonly kind: 'not-leading' }
  | {
      readonly kind: 'stepped-down'
      readonly epoch: bigint
      /** How the replica gave the lease up. */
      readonly outcome: TermOutcome
      /** The identity of the next holder; undefined unless `outcome` is `transferred`. */
      readonly successor: string | undefined
      readonly drain: DrainOutcome
      readonly drainMs: number
      /** Errors of tasks and cleanups while the term ended. */
      readonly errors: readonly unknown[]
    }

/** Fills in defaults. @throws OptionsError when `to` is empty or names this replica, or an option is wrong. */
export function resolveStepDown(options: StepDownOptions, { identity, timing }: ElectorConfig): StepDown {
  assertKnownKeys('`stepDown()`', options, ['cooldownMs', 'to', 'answerTimeoutMs'])
  const slowestPollMs = JITTER_FACTOR * timing.retryPeriodMs
  const { to, cooldownMs, answerTimeoutMs } = options
  if (to !== undefined && (typeof to !== 'string' || to === '' || to === identity)) {
    throw OptionsError.expected(`\`to\` to be the identity of another replica`, to)
  }
  return {
    reason: to === undefined ? 'step-down' : 'transferred',
    cooldownMs: resolveDurationMs('cooldownMs', cooldownMs, { fallback: 2 * slowestPollMs, min: 0 }),
    ...(to !== undefined && { to }),
    answerTimeoutMs: resolveDurationMs('answerTimeoutMs', answerTimeoutMs, { fallback: slowestPollMs, min: 0 }),
  }
}

/** The result of `stepDown()` for a term that has ended. */
export function steppedDown({ epoch, outcome, successor, drain, drainMs, errors }: TermOverEvent): StepDownResult {
  return withJsonForm({ kind: 'stepped-down', epoch, outcome, successor, drain, drainMs, errors })
}
