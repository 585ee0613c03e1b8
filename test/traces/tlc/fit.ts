import type { TracePart } from './parts.ts'
import { unfitFor } from './unfit.ts'

/** The model checker takes a few seconds for a trace of this many lines, and minutes for one of five times as many. */
const MOST_LINES = 1500

/** The traces that the model can judge, and how many it cannot, by reason. */
export class Fit<T extends { readonly name: string; readonly lines: readonly string[] }> {
  /** How many are to be judged. */
  readonly wanted: number
  readonly unfit = new Map<string, number>()
  readonly #traces: T[] = []

  constructor(wanted: number) {
    this.wanted = wanted
  }

  take(trace: T): void {
    if (this.wanted === 0) return
    const reason =
      trace.lines.length > MOST_LINES
        ? `more than ${MOST_LINES} lines`
        : unfitFor(trace.lines.map((line) => JSON.parse(line) as TracePart))
    if (reason === undefined) this.#traces.push(trace)
    else this.unfit.set(reason, (this.unfit.get(reason) ?? 0) + 1)
  }

  /** As many as wanted, evenly from all. @throws Error if there are too few */
  sample(): readonly T[] {
    const { length } = this.#traces
    if (length < this.wanted) throw new Error(`Expected ${this.wanted} traces that the model can judge, got ${length}`)
    return this.#traces.filter(
      (_, index) => Math.floor((index * this.wanted) / length) < Math.floor(((index + 1) * this.wanted) / length),
    )
  }
}
