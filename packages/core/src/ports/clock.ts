/**
 * Where time comes from. Every decision reads this port, so that tests and simulations run on virtual time.
 */
export interface Clock {
  /** Monotonic milliseconds since an arbitrary origin, with a fraction. The only time that decisions compare. */
  now(): number
  /** Wall-clock milliseconds since the Unix epoch. Written into records for people to read; never compared. */
  wallTime(): number
  /** Calls `callback` once, no earlier than `delayMs` from now. A delay of zero or less means as soon as possible. */
  setTimer(delayMs: number, callback: () => void): Timer
}

/** A pending call of a {@link Clock}. */
export interface Timer {
  /** Drops the call if it has not happened yet; does nothing otherwise. */
  cancel(): void
}

/** `setTimeout` counts in a signed 32-bit number of milliseconds and fires at once beyond that: longer waits are made of several. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1

/** The clock of this machine. Stateless: every part that is given none shares this one. */
export const systemClock: Clock = {
  now: () => performance.now(),
  wallTime: () => Date.now(),
  setTimer(delayMs, callback) {
    let handle: NodeJS.Timeout
    const wait = (leftMs: number): void => {
      const next = leftMs > LONGEST_TIMEOUT_MS ? () => wait(leftMs - LONGEST_TIMEOUT_MS) : callback
      handle = setTimeout(next, Math.min(Math.max(leftMs, 0), LONGEST_TIMEOUT_MS))
    }
    wait(delayMs)
    return { cancel: () => clearTimeout(handle) }
  },
}
