import type { Clock } from '@tenure/core'

/** The result of a wait whose answer did not arrive in time. */
export const TIMED_OUT: unique symbol = Symbol('timed out')

/**
 * Waits for answers, for each no longer than the timeout.
 *
 * Owns one timer for each pending wait. `close()` cancels all timers.
 */
export class BoundedWaits {
  /** The longest wait for an answer. */
  readonly timeoutMs: number
  readonly #clock: Clock
  readonly #waiting = new Set<() => void>()
  #isClosed = false

  constructor(clock: Clock, timeoutMs: number) {
    this.#clock = clock
    this.timeoutMs = timeoutMs
  }

  /** Settles as `answer` does, or resolves with {@link TIMED_OUT} when that takes too long. */
  async inTime<T>(answer: Promise<T>): Promise<T | typeof TIMED_OUT> {
    const { promise: patience, resolve } = Promise.withResolvers<typeof TIMED_OUT>()
    const giveUp = () => {
      timer.cancel()
      resolve(TIMED_OUT)
    }
    const timer = this.#clock.setTimer(this.timeoutMs, giveUp)
    if (this.#isClosed) giveUp()
    this.#waiting.add(giveUp)
    try {
      return await Promise.race([answer, patience])
    } finally {
      timer.cancel()
      this.#waiting.delete(giveUp)
    }
  }

  /** Ends all waits, present and future: a pending answer counts as timed out. */
  close(): void {
    this.#isClosed = true
    for (const giveUp of this.#waiting) giveUp()
  }
}
