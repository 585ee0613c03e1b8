/** Reports when all controllers of a term are running. */
export class Ready {
  readonly #of: number
  #count = 0
  #all = Promise.withResolvers<void>()

  constructor(of: number) {
    this.#of = of
  }

  /** Called by each controller once in every term. */
  arrived(): void {
    this.#count++
    if (this.#count % this.#of === 0) this.#all.resolve()
  }

  /** Resolves when every controller of the next term is running. Call it once per term. */
  async all(): Promise<void> {
    await this.#all.promise
    this.#all = Promise.withResolvers()
  }
}
