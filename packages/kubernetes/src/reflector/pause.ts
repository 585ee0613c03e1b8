import type { Clock } from '@tenure/core'
import { onAbort } from '@tenure/core/internal'

/** Waits that long, or until the signal aborts. Leaves no timer or listener. */
export async function pause(delayMs: number, clock: Clock, signal: AbortSignal): Promise<void> {
  if (delayMs === 0) return
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = clock.setTimer(delayMs, resolve)
  const removeListener = onAbort(signal, resolve)
  await promise
  timer.cancel()
  removeListener()
}
