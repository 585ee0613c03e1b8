import type { Clock } from '@tenure/core'
import type { Timer } from '@tenure/core/internal'

interface PendingTimer {
  readonly dueAt: number
  readonly callback: () => void
}

/** A clock that stands still until it is advanced. */
export class ManualClock implements Clock {
  #now = 0
  readonly #timers = new Set<PendingTimer>()

  now(): number {
    return this.#now
  }

  wallTime(): number {
    return Date.UTC(2026, 0, 2, 3, 4, 5) + this.#now
  }

  setTimer(delayMs: number, callback: () => void): Timer {
    const timer = { dueAt: this.#now + delayMs, callback }
    this.#timers.add(timer)
    return { cancel: () => void this.#timers.delete(timer) }
  }

  get pendingTimers(): number {
    return this.#timers.size
  }

  /** How long until each pending timer fires, soonest first. */
  get pendingDelays(): number[] {
    return [...this.#timers].map((timer) => timer.dueAt - this.#now).sort((a, b) => a - b)
  }

  /** Moves on, firing what falls due on the way in order. */
  advance(byMs: number): void {
    const target = this.#now + byMs
    for (;;) {
      const [next] = [...this.#timers].filter((timer) => timer.dueAt <= target).sort((a, b) => a.dueAt - b.dueAt)
      if (next === undefined) break
      this.#timers.delete(next)
      this.#now = Math.max(this.#now, next.dueAt)
      next.callback()
    }
    this.#now = target
  }
}
