import type { Clock, Timer } from '../ports/clock.ts'
import { TenureError } from '../tenure-error.ts'

/** A controller that was registered with `progressTimeoutMs` did not call `term.progress()` for that long. */
export class NoProgressError extends TenureError {
  override readonly code = 'NO_PROGRESS'

  constructor(controller: string, timeoutMs: number) {
    super(`Controller \`${controller}\` has not called \`term.progress()\` for ${timeoutMs} ms`)
  }
}

/** Options of a {@link ProgressWatch}. */
export interface ProgressWatchOptions {
  readonly clock: Clock
  readonly timeoutMs: number
  readonly progressedAt: () => number
  readonly onStalled: () => void
}

/**
 * Calls `onStalled` once, when there was no progress for `timeoutMs`.
 *
 * A timer that is late by more than `timeoutMs` shows a pause of the process. The controller then gets the full time again.
 */
export class ProgressWatch {
  readonly #options: ProgressWatchOptions
  #since: number
  #timer: Timer | undefined

  constructor(options: ProgressWatchOptions) {
    this.#options = options
    this.#since = options.clock.now()
    this.#check(this.#since)
  }

  /** Leaves no timer. */
  end(): void {
    this.#timer?.cancel()
  }

  #wait(dueAt: number): void {
    const { clock } = this.#options
    this.#timer = clock.setTimer(dueAt - clock.now(), () => this.#check(dueAt))
  }

  #check(dueAt: number): void {
    const { clock, timeoutMs, progressedAt, onStalled } = this.#options
    if (clock.now() - dueAt > timeoutMs) this.#since = clock.now()
    const nextDueAt = Math.max(this.#since, progressedAt()) + timeoutMs
    if (clock.now() >= nextDueAt) onStalled()
    else this.#wait(nextDueAt)
  }
}
