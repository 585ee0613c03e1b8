import { machineSuspension, type SuspensionMeter, SuspensionWatch } from './suspension.ts'

/** The source of time. Every decision reads this port, so that tests and simulations can run on virtual time. */
export interface Clock {
  /**
   * Monotonic milliseconds since an arbitrary origin, with a fraction. The only time that decisions compare. It includes the time for
   * which the machine was suspended, if the machine reports that.
   */
  now(): number
  /** Wall-clock milliseconds since the Unix epoch. Written into records for people to read; never compared. */
  wallTime(): number
  /** Calls `callback` once, no earlier than `delayMs` from now. A delay of zero or less means as soon as possible. */
  setTimer(delayMs: number, callback: () => void): Timer
  /**
   * Calls `listener` soon after the machine was suspended: `now()` went on, timers did not. The returned function removes the listener.
   * Absent if timers always keep up with `now()`.
   */
  watchSuspension?(listener: () => void): () => void
}

/** A pending call of a {@link Clock}. */
export interface Timer {
  /** Cancels the call if it has not happened; does nothing otherwise. */
  cancel(): void
}

/** `setTimeout` takes a signed 32-bit number of milliseconds and fires immediately for more. Longer waits use several timers. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1

const suspensions = machineSuspension && new SuspensionWatch(machineSuspension)
const suspendedSinceStartMs = suspensionsSince(machineSuspension)

function suspensionsSince(meter: SuspensionMeter | undefined): () => number {
  if (meter === undefined) return () => 0
  const aheadAtStartMs = meter.aheadMs()
  return () => meter.aheadMs() - aheadAtStartMs
}

/**
 * The clock of this machine, and the default clock of every part. On Linux it adds the time for which the machine was suspended, with the
 * 10 ms resolution of `/proc/uptime`. On macOS and Windows the monotonic clock of Node already includes it.
 */
export const systemClock: Clock = {
  now: () => performance.now() + suspendedSinceStartMs(),
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
  ...(suspensions && { watchSuspension: (listener) => suspensions.add(listener) }),
}
