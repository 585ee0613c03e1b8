import { type Clock } from '@tenure/core'
import { systemClock } from '@tenure/core/internal'

/** The clock of this machine, and how many of its timers are pending. */
export function countingClock(): { readonly clock: Clock; readonly pending: () => number } {
  const timers = new Set<object>()
  const setTimer: Clock['setTimer'] = (delayMs, callback) => {
    const timer = systemClock.setTimer(delayMs, () => {
      timers.delete(timer)
      callback()
    })
    timers.add(timer)
    return {
      cancel() {
        timers.delete(timer)
        timer.cancel()
      },
    }
  }
  return { clock: { ...systemClock, setTimer }, pending: () => timers.size }
}
