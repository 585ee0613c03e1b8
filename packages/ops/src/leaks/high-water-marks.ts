/** The count of one thing. */
export interface Counted {
  readonly kind: string
  readonly name: string
  readonly count: number
  /** Whether the count also varies without a leak, so that a single rise means nothing. */
  readonly fluctuates: boolean
}

/** A count that exceeded its previous maximum. */
export interface Rise {
  readonly kind: string
  readonly name: string
  readonly by: number
}

interface Mark {
  level: number
  /** The number of rises in a row. */
  rises: number
  /** The sum of the rises since the last report. */
  risen: number
}

/** The number of rises in a row that a fluctuating count needs. */
const RISES = 3

/** Applications choose the names, so the number of marks is bounded. Counts beyond it are not watched. */
const MAX_MARKS = 5000

/** Keeps the maximum of each count. The first update sets the baseline of the process. */
export class HighWaterMarks {
  readonly #marks = new Map<string, Mark>()
  #isFirst = true

  /** Compares the counts with their maxima and returns what has risen. */
  update(counts: readonly Counted[]): readonly Rise[] {
    const rises = counts.flatMap((counted) => this.#updateOne(counted))
    this.#isFirst = false
    return rises
  }

  #updateOne({ kind, name, count, fluctuates }: Counted): readonly Rise[] {
    const mark = this.#markOf(`${kind} ${name}`)
    if (mark === undefined) return []
    const rise = count - mark.level
    mark.level = Math.max(mark.level, count)
    if (this.#isFirst) return []
    mark.rises = rise > 0 ? mark.rises + 1 : 0
    mark.risen = rise > 0 ? mark.risen + rise : 0
    if (mark.rises < (fluctuates ? RISES : 1)) return []
    const by = mark.risen
    mark.risen = 0
    return [{ kind, name, by }]
  }

  /** The mark of a count; undefined if there are too many. */
  #markOf(key: string): Mark | undefined {
    const known = this.#marks.get(key)
    if (known !== undefined || this.#marks.size >= MAX_MARKS) return known
    const mark = { level: 0, rises: 0, risen: 0 }
    this.#marks.set(key, mark)
    return mark
  }
}
