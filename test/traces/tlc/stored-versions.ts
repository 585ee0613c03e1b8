import type { TraceLine, TraceRecord, TraceVersion, TraceWrite } from '@tenure/core/internal'

/** A write of an elector. */
interface Sent extends TraceWrite {
  readonly p: number
  /** The number of its line. */
  readonly line: number
  /** The version that it made, by its answer. */
  made: number | undefined
  hasFailed: boolean
}

/** A version of the lease, and the write that made it, if any is known. */
export interface StoredVersion {
  readonly by: Pick<Sent, 'p' | 'q'> | undefined
  readonly record: TraceRecord
}

/** All versions that a trace shows, in order, each with the write that made it. */
export class StoredVersions {
  readonly #versions: readonly number[]
  readonly #records = new Map<number, TraceRecord>()
  /** The number of the line that first shows a version. Only a write that was sent before can have made it. */
  readonly #seenIn = new Map<number, number>()
  readonly #sent: Sent[] = []
  #stored = 0

  constructor(lines: readonly TraceLine[]) {
    const open = new Map<string, Sent>()
    for (const [line, { p, e, q, f, v, r, d = [] }] of lines.entries()) {
      // Version 0 is that there is no lease.
      if (Number(v) > 0 && r !== undefined && !this.#records.has(Number(v))) {
        this.#records.set(Number(v), r)
        this.#seenIn.set(Number(v), line)
      }
      const answered = e === 'write-answer' ? open.get(`${p} ${q}`) : undefined
      if (answered !== undefined) {
        if (v !== undefined && r !== undefined) answered.made ??= Number(v)
        else answered.hasFailed = f !== 'unknown-outcome'
      }
      for (const act of d) {
        if (!('r' in act)) continue
        const sent = { ...act, p, line, made: undefined, hasFailed: false }
        this.#sent.push(sent)
        open.set(`${p} ${act.q}`, sent)
      }
    }
    this.#versions = [...this.#records.keys()].sort((a, b) => a - b)
  }

  /** Which version of the model this is: the first one is that there is no lease. 0 if the trace does not show it. */
  place(version: TraceVersion | undefined): number {
    const index = this.#versions.indexOf(Number(version))
    return index < 0 ? 0 : index + 2
  }

  /** Stores the versions up to this, if they were not stored yet, and returns them. */
  storeUpTo(version: TraceVersion | undefined): readonly StoredVersion[] {
    const from = this.#stored
    this.#stored = Math.max(from, this.place(version) - 1)
    return this.#versions.slice(from, this.#stored).map((_, index) => this.#storedAt(from + index))
  }

  /** Whether a write of an elector made every version, or an edit of its duration, or an edit that electors ignore. */
  get areExplained(): boolean {
    return this.#versions.every((_, index) => {
      const before = this.#records.get(this.#versions[index - 1] ?? 0)
      const { by, record } = this.#storedAt(index)
      return by !== undefined || (before !== undefined && isSameButDuration(record, before))
    })
  }

  #storedAt(index: number): StoredVersion {
    const version = this.#versions[index] ?? 0
    const base = this.#versions[index - 1]
    const record = this.#records.get(version) ?? { h: '' }
    const candidates = this.#sent.filter(
      ({ b, r, hasFailed, made, line }) =>
        !hasFailed &&
        line < (this.#seenIn.get(version) ?? 0) &&
        (made === undefined || made === version) &&
        (b === undefined ? base === undefined : Number(b) === base) &&
        isSame(r, record),
    )
    return { by: candidates.find(({ made }) => made === version) ?? candidates[0], record }
  }
}

function isSame(a: TraceRecord, b: TraceRecord): boolean {
  return a.d === b.d && isSameButDuration(a, b)
}

function isSameButDuration(a: TraceRecord, b: TraceRecord): boolean {
  return a.h === b.h && a.a === b.a && a.r === b.r && a.n === b.n && a.o === b.o && String(a.y) === String(b.y)
}
