import type { Random } from '@tenure/core/internal'

const MIN_MS = 100
const MAX_MS = 5000

/** How long to wait before the next attempt to connect: not at all the first time, then longer and longer, and jittered. */
export class ReconnectBackoff {
  readonly #random: Random
  #failures = 0

  constructor(random: Random) {
    this.#random = random
  }

  /** Whether nothing has failed since the last success. */
  get fresh(): boolean {
    return this.#failures === 0
  }

  /** Counts a failure and returns the delay in milliseconds. */
  next(): number {
    const failures = this.#failures++
    if (failures === 0) return 0
    const delay = Math.min(MIN_MS * 2 ** (failures - 1), MAX_MS)
    return delay * (0.5 + this.#random() / 2)
  }

  reset(): void {
    this.#failures = 0
  }
}
