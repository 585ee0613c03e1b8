import type { Clock } from '@tenure/core'

/** Waits that long, or until the signal aborts. Leaves no timer or listener. */
export async function pause(delayMs: number, clock: Clock, signal: AbortSignal): Promise<void> {
  if (delayMs === 0) return
  await new Promise<void>((resolve) => {
    const timer = clock.setTimer(delayMs, () => {
      signal.removeEventListener('abort', onStop)
      resolve()
    })
    const onStop = () => {
      timer.cancel()
      resolve()
    }
    signal.addEventListener('abort', onStop, { once: true })
  })
}
