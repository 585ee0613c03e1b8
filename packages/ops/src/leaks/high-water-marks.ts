/** A thing that can be counted. */
export interface Counted {
  readonly kind: string
  readonly name: string
  readonly count: number
  /** Whether it also comes and goes by itself, so that one rise means nothing. */
  readonly fluctuates: boolean
}

/** There are more of something than there ever were. */
export interface Rise {
  readonly kind: string
  readonly name: string
  readonly by: number
}

interface Mark {
  level: number
  /** How often in succession the mark has risen. */
  rises: number
  /** By how much it has risen since the last report. */
  risen: number
}

/** What fluctuates has to rise so often in succession. */
const RISES = 3

/** Names come from applications, so the memory of them is bounded. */
const MOST_MARKS = 5000

/** Remembers the most that was ever counted of each thing. The first count is taken for what the process has for good. */
export class HighWaterMarks {
  readonly #marks = new Map<string, Mark>()
  #isFirst = true

  /** Takes in a count of everything and returns what has risen. */
  update(counts: readonly Counted[]): readonly Rise[] {
    const rises = counts.flatMap((counted) => this.#updateOne(counted))
    this.#isFirst = false
    return rises
  }

  #updateOne({ kind, name, count, fluctuates }: Counted): readonly Rise[] {
    const mark = this.#markOf(`${kind} ${name}`)
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

  #markOf(key: string): Mark {
    const known = this.#marks.get(key)
    if (known !== undefined) return known
    const mark = { level: 0, rises: 0, risen: 0 }
    if (this.#marks.size < MOST_MARKS) this.#marks.set(key, mark)
    return mark
  }
}
