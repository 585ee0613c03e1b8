import type { TraceLine } from '@tenure/core/internal'

/** A moment: the clock of the machine, and that of an elector. */
interface Moment {
  readonly m: number
  readonly t: number
}

/** Ticks in a millisecond. */
const TICKS_PER_MS = 10

/** The clocks of all electors. Between two lines of an elector its clock goes on evenly; after the last one, with the clock of the machine. */
export class Clocks {
  readonly #moments: readonly (readonly Moment[])[]
  /** The last moment that has passed, and the ticks that were counted. */
  readonly #places: number[]
  readonly #counted: (number | undefined)[]

  constructor(lines: readonly TraceLine[], electors: number) {
    this.#moments = Array.from({ length: electors }, (_, index) => lines.filter(({ p }) => p === index + 1))
    this.#places = this.#moments.map(() => 0)
    this.#counted = this.#moments.map(() => undefined)
  }

  /** Whole ticks of a duration or time in milliseconds. */
  static ticks(ms: number): number {
    return Math.floor(ms * TICKS_PER_MS + 1e-6)
  }

  /** The ticks of every clock since it was last asked for, until a line. The clock of the line is the one that it states. */
  passedUntil({ p, m, t }: TraceLine): readonly number[] {
    return this.#moments.map((_, index) => {
      const now = Clocks.ticks(index === p - 1 ? t : this.#at(index, m))
      const before = this.#counted[index] ?? now
      this.#counted[index] = Math.max(before, now)
      return Math.max(0, now - before)
    })
  }

  #at(index: number, m: number): number {
    const moments = this.#moments[index] ?? []
    let place = this.#places[index] ?? 0
    for (let next = moments[place + 1]; next !== undefined && next.m <= m; next = moments[place + 1]) place += 1
    this.#places[index] = place
    const from = moments[place]
    const to = moments[place + 1]
    if (from === undefined) return 0
    if (m <= from.m) return from.t
    if (to === undefined) return from.t + m - from.m
    return from.t + ((m - from.m) * (to.t - from.t)) / (to.m - from.m)
  }
}
