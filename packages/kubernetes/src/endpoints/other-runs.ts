import { onAbort } from '@tenure/core/internal'

/** Counts the runs of other controllers in the terms of one lease. */
export class OtherRuns {
  readonly #waiters = new Set<() => void>()
  #count = 0

  /** A run begins. The returned function ends it. */
  begin(): () => void {
    this.#count += 1
    return () => {
      this.#count -= 1
      if (this.#count === 0) for (const resolve of this.#waiters) resolve()
    }
  }

  /** Resolves when none is left, or the signal aborts. */
  async done(signal: AbortSignal): Promise<void> {
    if (this.#count === 0) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiters.add(resolve)
    const forget = onAbort(signal, resolve)
    await promise
    forget()
    this.#waiters.delete(resolve)
  }
}
