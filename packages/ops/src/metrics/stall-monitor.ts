import type { Clock, Timer } from '@tenure/core'
import { Histogram, type Registry } from 'prom-client'

/** How often the event loop is tried. A stall shorter than this may go unseen; none that matters to a lease is. */
const PERIOD_MS = 500

/** Measures by how much the event loop is late. Owns one timer between `start()` and `stop()`. */
export class StallMonitor {
  readonly #clock: Clock
  readonly #stall: Histogram
  #timer: Timer | undefined

  constructor(registry: Registry, clock: Clock) {
    this.#clock = clock
    this.#stall = new Histogram({
      name: 'tenure_event_loop_stall_seconds',
      help: 'By how much the event loop was late, tried twice a second.',
      buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30],
      registers: [registry],
    })
  }

  /** Begins to measure. */
  start(): void {
    const dueAt = this.#clock.now() + PERIOD_MS
    this.#timer = this.#clock.setTimer(PERIOD_MS, () => {
      this.#stall.observe(Math.max(0, this.#clock.now() - dueAt) / 1000)
      this.start()
    })
  }

  /** Measures no more. */
  stop(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }
}
