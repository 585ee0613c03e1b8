import type { Clock, Timer } from '../../packages/core/src/ports/clock.ts'

/** A timer that waits to be fired. */
export interface HandTimer {
  readonly at: number
  readonly delayMs: number
  readonly order: number
  readonly callback: () => void
}

/**
 * The clock of one replica. Time passes only when the walk says so, and a timer fires only when the walk fires it: a process may be late
 * by any time.
 */
export class HandClock implements Clock {
  readonly #timers = new Set<HandTimer>()
  #now: number
  #wall: number
  #order = 0

  constructor(after?: HandClock) {
    this.#now = after?.now() ?? 1e6
    this.#wall = after?.wallTime() ?? Date.UTC(2026, 0, 1)
  }

  now(): number {
    return this.#now
  }

  /** Every reading is a second later, so that clients that compare whole seconds see every write. */
  wallTime(): number {
    return (this.#wall += 1000)
  }

  setTimer(delayMs: number, callback: () => void): Timer {
    const timer = { delayMs, at: this.#now + Math.max(0, delayMs), order: this.#order++, callback }
    this.#timers.add(timer)
    return { cancel: () => void this.#timers.delete(timer) }
  }

  pass(ms: number): void {
    this.#now += ms
  }

  /** The time of the next timer that `isWanted`. */
  nextAt(isWanted: (timer: HandTimer) => boolean): number | undefined {
    return this.#first(isWanted)?.at
  }

  /** Fires the first timer that `isWanted`, at its time if that has not come. */
  fire(isWanted: (timer: HandTimer) => boolean): void {
    const timer = this.#first(isWanted)
    if (timer === undefined) return
    this.#timers.delete(timer)
    this.#now = Math.max(this.#now, timer.at)
    timer.callback()
  }

  #first(isWanted: (timer: HandTimer) => boolean): HandTimer | undefined {
    let first: HandTimer | undefined
    for (const timer of this.#timers) {
      if (!isWanted(timer)) continue
      if (first === undefined || timer.at < first.at || (timer.at === first.at && timer.order < first.order))
        first = timer
    }
    return first
  }
}
