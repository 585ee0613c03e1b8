import { onAbort } from '@tenure/core/internal'

interface Waiter {
  readonly admit: () => void
}

/**
 * Limits the number of requests in flight, so that a server that is too slow for all of them still answers some in time.
 *
 * The newest waiting request goes first. Requests time out: if the oldest went first, an overloaded server would work only on requests
 * that are about to time out.
 */
export class RequestSlots {
  #free: number
  readonly #waiting: Waiter[] = []

  constructor(count: number) {
    this.#free = count
  }

  /** Resolves when a slot is free, and takes it. Rejects with the reason of the signal if that aborts first. */
  async take(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.#free > 0) {
      this.#free--
      return
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiter: Waiter = {
      admit: () => {
        forget()
        resolve()
      },
    }
    const forget = onAbort(signal, () => {
      this.#waiting.splice(this.#waiting.indexOf(waiter), 1)
      reject(signal.reason)
    })
    this.#waiting.push(waiter)
    await promise
  }

  /** Releases a slot. */
  release(): void {
    const next = this.#waiting.pop()
    if (next === undefined) this.#free++
    else next.admit()
  }
}
