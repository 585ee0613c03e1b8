/** How often progress is printed. */
const EVERY_MS = 10_000

/** Prints how far a long command is, at most every ten seconds: the part that is done, the rate of this run, and the time that is left. */
export class Progress {
  readonly #unit: string
  readonly #wanted: number
  readonly #done = new Map<number, number>()
  #atStart: number | undefined
  #startedAt = performance.now()
  #printedAt = performance.now()

  /** `wanted`: how many units the whole has. */
  constructor(unit: string, wanted: number) {
    this.#unit = unit
    this.#wanted = wanted
  }

  /** A part of the whole has come this far. The first number of a part is what was there before this run. `found`: what the run has found. */
  report(part: number, done: number, found?: string): void {
    const before = this.#sum()
    if (!this.#done.has(part)) this.#atStart = (this.#atStart ?? 0) + done
    this.#done.set(part, done)
    if (performance.now() - this.#printedAt < EVERY_MS || this.#sum() === before) return
    this.#printedAt = performance.now()
    console.log([this.describe(), found].filter((text) => text !== undefined).join(', '))
  }

  describe(): string {
    const done = this.#sum()
    const perSecond = (done - (this.#atStart ?? 0)) / ((performance.now() - this.#startedAt) / 1000)
    const hours = Math.max(0, this.#wanted - done) / perSecond / 3600
    const percent = ((100 * done) / this.#wanted).toFixed(1)
    const rate = `${Math.round(perSecond)} a second`
    return `${done} of ${this.#wanted} ${this.#unit}, ${percent} %, ${rate}, about ${hours.toFixed(1)} h left`
  }

  #sum(): number {
    return [...this.#done.values()].reduce((total, one) => total + one, 0)
  }
}
