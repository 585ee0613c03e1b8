import { jittered, type Random } from '@tenure/core/internal'

const MIN_MS = 100
const MAX_MS = 5000

/** The pauses before attempts to reconnect: none before the first, then 100 ms, doubled up to 5 s, each with jitter. */
export class ReconnectBackoff {
  readonly #random: Random
  #failures = 0

  constructor(random: Random) {
    this.#random = random
  }

  /** Whether no attempt has failed since the last success. */
  get fresh(): boolean {
    return this.#failures === 0
  }

  /** Counts a failure and returns the delay in milliseconds. */
  next(): number {
    const failures = this.#failures++
    if (failures === 0) return 0
    return jittered(Math.min(MIN_MS * 2 ** (failures - 1), MAX_MS), this.#random())
  }

  reset(): void {
    this.#failures = 0
  }
}
