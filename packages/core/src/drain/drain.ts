import type { Clock, Timer } from '../ports/clock.ts'
import { type DrainEffect, type DrainEvent, type DrainPlan, drainWakesAt, OPEN, transition } from './machine.ts'

/** Options of a {@link Drain}. */
export interface DrainOptions {
  readonly clock: Clock
  /** Carries out an effect of the drain. */
  readonly onEffect: (effect: DrainEffect) => void
}

/**
 * Drives the drain machine with a clock, for work without an elector: always-on controllers, failed runs, warm-ups, cleanups.
 *
 * Owns one timer. It is cancelled when the drain is empty.
 */
export class Drain {
  readonly #options: DrainOptions
  #state: ReturnType<typeof transition>['state'] = OPEN
  #timer: Timer | undefined

  constructor(options: DrainOptions) {
    this.#options = options
  }

  /** Asks the work to end. */
  ask(plan: DrainPlan): void {
    this.#handle({ kind: 'ask', plan, now: this.#options.clock.now() })
  }

  /** Reports that every task has settled and cleanups begin. */
  cleaning(): void {
    this.#handle({ kind: 'cleaning', now: this.#options.clock.now() })
  }

  /** Reports that cleanups of a part of the work missed their own timeout. */
  cleanupOverdue(): void {
    this.#handle({ kind: 'cleanup-overdue', now: this.#options.clock.now() })
  }

  /** Reports that nothing of the work is left. Leaves no timer. */
  empty(): void {
    this.#handle({ kind: 'empty', now: this.#options.clock.now() })
  }

  #handle(event: DrainEvent): void {
    const { state, effects } = transition(this.#state, event)
    this.#state = state
    this.#setTimer(drainWakesAt(state))
    for (const effect of effects) this.#options.onEffect(effect)
  }

  #setTimer(wakeAt: number | undefined): void {
    const { clock } = this.#options
    this.#timer?.cancel()
    this.#timer =
      wakeAt === undefined
        ? undefined
        : clock.setTimer(wakeAt - clock.now(), () => this.#handle({ kind: 'wake', now: clock.now() }))
  }
}
