import type { Clock } from '@tenure/core'
import { onAbort } from '@tenure/core/internal'

/** A pause that can be cut short. A call that comes before the pause cuts the next one short. */
export class Wakeup {
  readonly #clock: Clock
  #isDue = false
  #resolve: () => void = () => {}

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Ends the present pause, or the next one. */
  wake(): void {
    this.#isDue = true
    this.#resolve()
  }

  /** Waits until it is woken, the time is over, or the signal aborts. Leaves no timer or listener. @param delayMs undefined: no limit */
  async wait(delayMs: number | undefined, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#resolve = resolve
    if (this.#isDue) resolve()
    const timer = delayMs === undefined ? undefined : this.#clock.setTimer(delayMs, resolve)
    const forget = onAbort(signal, resolve)
    await promise
    timer?.cancel()
    forget()
    this.#isDue = false
  }
}
