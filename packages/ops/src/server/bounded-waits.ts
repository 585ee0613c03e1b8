import type { Clock } from '@tenure/core'

/** What an answer that did not come in time is replaced by. */
export const TIMED_OUT: unique symbol = Symbol('timed out')

/**
 * Waits for answers, none of them longer than the timeout.
 *
 * Owns a timer for every answer that is waited for; none is left when `close()` returns, nor is one made after it.
 */
export class BoundedWaits {
  /** How long an answer is waited for. */
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
      timer?.cancel()
      resolve(TIMED_OUT)
    }
    const timer = this.#isClosed ? undefined : this.#clock.setTimer(this.timeoutMs, giveUp)
    if (this.#isClosed) giveUp()
    this.#waiting.add(giveUp)
    try {
      return await Promise.race([answer, patience])
    } finally {
      timer?.cancel()
      this.#waiting.delete(giveUp)
    }
  }

  /** Waits for nothing any more: what has not come counts as timed out. */
  close(): void {
    this.#isClosed = true
    for (const giveUp of this.#waiting) giveUp()
  }
}
