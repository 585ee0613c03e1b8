import type { Clock } from '@tenure/core'
import type { Timer } from '@tenure/core/internal'
import type { Wire } from './virtual-api.ts'

/** The clock of a process that may be stopped: time goes on, and timers that are due fire when it continues. */
export function pausable(clock: Clock, wire: Wire): Clock {
  return {
    now: () => clock.now(),
    wallTime: () => clock.wallTime(),
    setTimer: (delayMs, callback): Timer => {
      const look = (): void => {
        if (wire.isDead === true) return
        if (wire.isPaused) timer = clock.setTimer(50, look)
        else callback()
      }
      let timer = clock.setTimer(delayMs, look)
      return { cancel: () => timer.cancel() }
    },
  }
}
