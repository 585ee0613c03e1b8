import { onAbort } from '@tenure/core/internal'

interface Waiter {
  readonly admit: () => void
}

/**
 * Lets so many requests be under way at once, so that a server that is too slow for all of them still answers some in time.
 *
 * The newest of those that wait goes first. Each is given up after a while; were the oldest to go first, a server that cannot keep
 * up would work on those alone that are about to be given up.
 */
export class RequestSlots {
  #free: number
  readonly #waiting: Waiter[] = []

  constructor(count: number) {
    this.#free = count
  }

  /** Takes a slot; resolves when there is one. Rejects with the reason of the signal when that aborts first. */
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

  /** Gives a slot back. */
  release(): void {
    const next = this.#waiting.pop()
    if (next === undefined) this.#free++
    else next.admit()
  }
}
