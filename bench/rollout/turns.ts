/** Lets one part run at a time, so that the processes that one fleet starts do not slow down the handover of another. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve()

  /** Runs `work` when all parts before it have ended. */
  take<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work)
    this.#last = result.catch(() => {})
    return result
  }
}
