import type { ApiServer } from '@tenure/api-server'

/** Cuts users off from the embedded API server. */
export class Cuts {
  readonly #faults: ApiServer['faults']
  /** Ends the cut of each user that is cut off. */
  readonly #cuts = new Map<string, () => void>()

  constructor(faults: ApiServer['faults']) {
    this.#faults = faults
  }

  has(user: string): boolean {
    return this.#cuts.has(user)
  }

  /** Cuts a user off, or connects it again. Returns whether it is cut off now. */
  toggle(user: string): boolean {
    const connect = this.#cuts.get(user)
    if (connect !== undefined) {
      connect()
      this.#cuts.delete(user)
      return false
    }
    const fault = this.#faults.add({ match: { user }, effect: { kind: 'drop-before' } })
    this.#faults.closeWatches({ match: { user }, abruptly: true })
    this.#cuts.set(user, () => fault.remove())
    return true
  }
}
