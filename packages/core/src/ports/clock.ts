import { machineSuspension, type SuspensionMeter, SuspensionWatch } from './suspension.ts'

/**
 * Where time comes from. Every decision reads this port, so that tests and simulations run on virtual time.
 */
export interface Clock {
  /**
   * Monotonic milliseconds since an arbitrary origin, with a fraction. The only time that decisions compare. It goes on while the
   * machine is suspended, wherever the machine can tell.
   */
  now(): number
  /** Wall-clock milliseconds since the Unix epoch. Written into records for people to read; never compared. */
  wallTime(): number
  /** Calls `callback` once, no earlier than `delayMs` from now. A delay of zero or less means as soon as possible. */
  setTimer(delayMs: number, callback: () => void): Timer
  /**
   * Calls `listener` soon after the machine was suspended: `now()` went on, timers did not. The returned function ends that.
   * Absent where timers always keep up with `now()`.
   */
  watchSuspension?(listener: () => void): () => void
}

/** A pending call of a {@link Clock}. */
export interface Timer {
  /** Drops the call if it has not happened yet; does nothing otherwise. */
  cancel(): void
}

/** `setTimeout` counts in a signed 32-bit number of milliseconds and fires at once beyond that: longer waits are made of several. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1

const suspensions = machineSuspension && new SuspensionWatch(machineSuspension)
const suspendedSinceStartMs = suspensionsSince(machineSuspension)

function suspensionsSince(meter: SuspensionMeter | undefined): () => number {
  if (meter === undefined) return () => 0
  const aheadAtStartMs = meter.aheadMs()
  return () => meter.aheadMs() - aheadAtStartMs
}

/**
 * The clock of this machine: every part that is given none shares this one. On Linux it counts the time for which the machine was
 * suspended, to the 10 ms that `/proc/uptime` resolves; on macOS and Windows the monotonic clock of Node does so by itself.
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
