import { setTimeout as delay } from 'node:timers/promises'

const WITHIN_MS = 10_000

/** Something that the tour waited for did not happen. */
export class DidNotHappenError extends Error {
  override readonly name = 'DidNotHappenError'
}

/** The user asked the demo to end. */
export class QuitError extends Error {
  override readonly name = 'QuitError'

  constructor() {
    super('was ended before it was over')
  }
}

/** Lets the tour wait for what happens elsewhere. Ends every wait, now and later, once it is aborted. */
export class Progress {
  readonly #abort = new AbortController()
  readonly #probes = new Set<() => void>()

  /** Aborts together with every wait. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** Something has happened: all waiting calls check again. */
  changed(): void {
    for (const probe of this.#probes) probe()
  }

  /** Ends every wait with this error. Only the first one counts. */
  abort(error: Error): void {
    this.#abort.abort(error)
    this.changed()
  }

  /**
   * Resolves with what `probe` finds.
   * @throws DidNotHappenError with `what` when it finds nothing in time @throws what the waits were aborted with
   */
  async until<T>(what: string, probe: () => T | undefined | false, withinMs = WITHIN_MS): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const look = () => {
      if (this.signal.aborted) reject(this.signal.reason)
      const found = probe()
      if (found !== undefined && found !== false) resolve(found)
    }
    const late = () => reject(new DidNotHappenError(`${what}: did not happen within ${withinMs} ms`))
    const timer = setTimeout(late, withinMs)
    this.#probes.add(look)
    look()
    try {
      return await promise
    } finally {
      this.#probes.delete(look)
      clearTimeout(timer)
    }
  }

  /** Resolves after that time. @throws what the waits were aborted with */
  async pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.signal }).catch(() => this.signal.throwIfAborted())
  }
}
