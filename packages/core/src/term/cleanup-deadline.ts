import { setMaxListeners } from 'node:events'
import type { Clock, Timer } from '../ports/clock.ts'
import { TenureError } from '../tenure-error.ts'

/** The cleanups of a term have used up most of their time. The reason with which their signal aborts. */
export class CleanupTimeoutError extends TenureError {
  override readonly code = 'CLEANUP_TIMEOUT'

  constructor(controller: string, budgetMs: number) {
    super(`The cleanups of controller \`${controller}\` have to end: half of their ${budgetMs} ms are over`)
  }
}

/** What a {@link CleanupDeadline} is made of. */
export interface CleanupDeadlineOptions {
  readonly controller: string
  readonly clock: Clock
  readonly budgetMs: number
  readonly onOverdue: () => void
}

/** The time that cleanups have: at half of it their own, fresh signal aborts, at its end they are overdue. */
export class CleanupDeadline {
  readonly #controller = new AbortController()
  readonly #timers: readonly Timer[]

  constructor({ controller, clock, budgetMs, onOverdue }: CleanupDeadlineOptions) {
    setMaxListeners(0, this.signal)
    const abort = (): void => this.#controller.abort(new CleanupTimeoutError(controller, budgetMs))
    this.#timers = [clock.setTimer(budgetMs / 2, abort), clock.setTimer(budgetMs, onOverdue)]
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Leaves no timer. */
  end(): void {
    for (const timer of this.#timers) timer.cancel()
  }
}
