import { type Clock } from '@tenure/core'
import { systemClock, type Timer } from '@tenure/core/internal'

/** A clock that can be made to run at another rate than time does, and whose wall clock can be stepped. */
export class RatedClock implements Clock {
  #rate = 1
  #wallOffsetMs = 0
  /** Two readings of the same moment: of the clock of the machine, and of this one. */
  #since = { real: systemClock.now(), own: systemClock.now() }

  now(): number {
    const { real, own } = this.#since
    return own + (systemClock.now() - real) * this.#rate
  }

  wallTime(): number {
    return systemClock.wallTime() + this.#wallOffsetMs
  }

  setTimer(delayMs: number, callback: () => void): Timer {
    return systemClock.setTimer(delayMs / this.#rate, callback)
  }

  /** Goes on from the present reading at this rate; 0.5 is half as fast as time. Timers that are set stay as they are. */
  set rate(rate: number) {
    this.#since = { own: this.now(), real: systemClock.now() }
    this.#rate = rate
  }

  stepWallClock(byMs: number): void {
    this.#wallOffsetMs += byMs
  }
}
