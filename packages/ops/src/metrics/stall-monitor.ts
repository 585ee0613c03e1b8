import type { Clock, Logger } from '@tenure/core'
import type { Timer } from '@tenure/core/internal'
import { Histogram, type Registry } from 'prom-client'

/** How often the monitor checks the event loop. A measured stall may be too short by this much. */
const PERIOD_MS = 100

/** The shortest stall that is logged: about the shortest that can delay a renewal too long. */
const LOGGED_MS = 1000

const MESSAGE = 'the event loop was blocked; nothing was renewed meanwhile'

/**
 * Measures how late the event loop runs a timer, and logs long stalls. Owns one timer between `start()` and `stop()`.
 *
 * It ends no term. The elector checks the time with every event, and a term checks it whenever code asks whether it is held.
 */
export class StallMonitor {
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #stall: Histogram
  #timer: Timer | undefined

  constructor(registry: Registry, clock: Clock, logger: Logger) {
    this.#clock = clock
    this.#logger = logger
    this.#stall = new Histogram({
      name: 'tenure_event_loop_stall_seconds',
      help: 'Lateness of the event loop, sampled ten times a second.',
      buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30],
      registers: [registry],
    })
  }

  /** Starts measuring. */
  start(): void {
    const dueAt = this.#clock.now() + PERIOD_MS
    this.#timer = this.#clock.setTimer(PERIOD_MS, () => {
      const stallMs = Math.max(0, this.#clock.now() - dueAt)
      this.#stall.observe(stallMs / 1000)
      if (stallMs >= LOGGED_MS) this.#logger.warn({ event: 'event-loop-stalled', stallMs }, MESSAGE)
      this.start()
    })
  }

  /** Stops measuring. */
  stop(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }
}
