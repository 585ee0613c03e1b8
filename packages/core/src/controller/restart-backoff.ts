import { isA } from '../error-of.ts'
import { jittered } from '../jitter.ts'
import { OptionsError } from '../options/options-error.ts'
import type { Clock } from '../ports/clock.ts'
import type { Random } from '../ports/random.ts'
import { MAX_BACKOFF_MS, type ResolvedRestartOptions } from './restart-options.ts'
import { TerminalError } from './terminal-error.ts'

/** With more doublings the pause is {@link MAX_BACKOFF_MS} anyway. Without this limit, 0 ms would become 0 × Infinity. */
const MAX_DOUBLINGS = 40

/** Options of a {@link RestartBackoff}. */
export interface RestartBackoffOptions {
  readonly restart: ResolvedRestartOptions
  readonly clock: Clock
  readonly random: Random
}

/** Counts the failures of one controller and computes the pause before its next run. */
export class RestartBackoff {
  readonly #options: RestartBackoffOptions
  readonly #failures: number[] = []

  constructor(options: RestartBackoffOptions) {
    this.#options = options
  }

  /** The pause before the next run; undefined if the controller must not run again. */
  next(error: unknown): number | undefined {
    const { restart, clock, random } = this.#options
    if (isA(error, TerminalError) || isA(error, OptionsError)) return undefined
    const now = clock.now()
    const recent = this.#failures.filter((time) => now - time < restart.withinMs)
    this.#failures.splice(0, this.#failures.length, ...recent, now)
    if (recent.length >= restart.maxRestarts) return undefined
    return jittered(Math.min(restart.backoffMs * 2 ** Math.min(recent.length, MAX_DOUBLINGS), MAX_BACKOFF_MS), random())
  }
}
