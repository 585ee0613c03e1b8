import type { Clock } from '@tenure/core'
import { onAbort } from '@tenure/core/internal'

/** Bounds of an attempt. */
export interface Deadline {
  readonly clock: Clock
  readonly timeoutMs: number
  /** Ends the attempt early. */
  readonly signal: AbortSignal
}

/** Runs an attempt under a signal that aborts after the timeout, or with the outer signal. Leaves no timer or listener. */
export async function withDeadline<T>(deadline: Deadline, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { clock, timeoutMs, signal } = deadline
  const controller = new AbortController()
  const timer = clock.setTimer(timeoutMs, () => {
    controller.abort(new DOMException(`No answer within ${timeoutMs} ms`, 'TimeoutError'))
  })
  const forget = onAbort(signal, () => controller.abort(signal.reason))
  try {
    return await run(controller.signal)
  } finally {
    timer.cancel()
    forget()
  }
}
