/** How a {@link Journal} waits. */
export interface Wait {
  /** Only entries from this position on count; a {@link Journal.length} taken before an act makes it wait for what follows. @default 0 */
  readonly from?: number
  /** Long: a machine may be busy, and only a failure waits to the end. @default 90000 */
  readonly timeoutMs?: number
}

interface Waiter<T> {
  readonly offer: (entry: T) => void
  readonly end: (why: string) => void
}

const SHOWN_ENTRIES = 25

/** The events so far, in order, and promises of future events. */
export class Journal<T> {
  readonly entries: T[] = []
  readonly #name: string
  readonly #waiters = new Set<Waiter<T>>()
  #endedBy: string | undefined

  constructor(name: string) {
    this.#name = name
  }

  get length(): number {
    return this.entries.length
  }

  record(entry: T): void {
    this.entries.push(entry)
    for (const waiter of this.#waiters) waiter.offer(entry)
  }

  /** The journal has ended: all waiting calls reject with the reason. */
  end(why: string): void {
    this.#endedBy ??= why
    for (const waiter of this.#waiters) waiter.end(why)
  }

  /**
   * Fulfils with the first entry that fits, past or to come.
   * @throws Error with the last entries when there is none in time.
   */
  waitFor<U extends T>(what: string, fits: (entry: T) => entry is U, wait?: Wait): Promise<U>
  waitFor(what: string, fits: (entry: T) => boolean, wait?: Wait): Promise<T>
  waitFor(what: string, fits: (entry: T) => boolean, { from = 0, timeoutMs = 90_000 }: Wait = {}): Promise<T> {
    const found = this.entries.slice(from).find((entry) => fits(entry))
    if (found !== undefined) return Promise.resolve(found)
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const waiter: Waiter<T> = {
      offer: (entry) => {
        if (fits(entry)) settle(() => resolve(entry))
      },
      end: (why) => settle(() => reject(this.#missing(what, why))),
    }
    const timer = setTimeout(() => waiter.end(`nothing of the kind within ${timeoutMs} ms`), timeoutMs)
    const settle = (by: () => void) => {
      clearTimeout(timer)
      this.#waiters.delete(waiter)
      by()
    }
    this.#waiters.add(waiter)
    if (this.#endedBy !== undefined) waiter.end(this.#endedBy)
    return promise
  }

  #missing(what: string, why: string): Error {
    const shown = this.entries.slice(-SHOWN_ENTRIES).map((entry) => `  ${describe(entry)}`)
    return new Error(`Expected ${what} from ${this.#name}: ${why}. Its last entries:\n${shown.join('\n')}`)
  }
}

function describe(entry: unknown): string {
  return JSON.stringify(entry, (_key, value: unknown) => {
    if (typeof value === 'bigint') return String(value)
    return value instanceof Error ? value.message : value
  })
}
