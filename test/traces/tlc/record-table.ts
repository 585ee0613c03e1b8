import type { TraceRecord } from '@tenure/core/internal'
import { Clocks } from './clocks.ts'

/** A record as numbers, as `Trace.tla` reads it. */
export interface NumberedRecord {
  /** The elector that holds the lease, 0 if there is none, -1 if it is not traced. */
  readonly holder: number
  readonly dur: number
  readonly acq: number
  readonly ren: number
  readonly trans: number
  readonly offer: boolean
  /** The elector that has answered, and the number of its answer. */
  readonly answer: readonly [elector: number, nonce: number]
  /** The number of the answer that a transfer repeats. */
  readonly echo: number
}

/** The different records of a trace. The same record has the same number, and the same time has the same number. */
export class RecordTable {
  readonly records: NumberedRecord[] = []
  readonly #identities: readonly string[]
  readonly #numbers = new Map<string, number>()
  readonly #times = new Map<string, number>()
  readonly #nonces = new Map<string, number>()
  readonly #answers = new Map<number, number>()

  constructor(identities: readonly string[]) {
    this.#identities = identities
  }

  /** The number of a record, from 1; 0 if there is none. */
  number(record: TraceRecord | undefined): number {
    if (record === undefined) return 0
    const numbered = this.#numbered(record)
    const key = JSON.stringify(numbered)
    const known = this.#numbers.get(key)
    if (known !== undefined) return known
    this.records.push(numbered)
    this.#numbers.set(key, this.records.length)
    return this.records.length
  }

  /** The number of the elector with this identity; 0 for nobody, -1 if it is not traced. */
  elector(identity: string | undefined): number {
    if (identity === undefined || identity === '') return 0
    return this.#identities.indexOf(identity) + 1 || -1
  }

  /** The number of a time, from 1; 0 if there is none. */
  time(text: string | undefined): number {
    if (text === undefined) return 0
    const number = this.#times.get(text) ?? this.#times.size + 1
    this.#times.set(text, number)
    return number
  }

  /** Takes in that an elector sends this nonce. Its nonces are numbered from 1. */
  noteNonce(elector: number, nonce: string | undefined): void {
    if (nonce === undefined || this.#nonces.has(nonce)) return
    const number = (this.#answers.get(elector) ?? 0) + 1
    this.#answers.set(elector, number)
    this.#nonces.set(nonce, number)
  }

  #numbered({ h, d = 0, a, r, n = 0, y, o, x }: TraceRecord): NumberedRecord {
    return {
      holder: this.elector(h),
      dur: Clocks.ticks(d * 1000),
      acq: this.time(a),
      ren: this.time(r),
      trans: n,
      offer: o === true,
      answer: y === undefined ? [0, 0] : [this.elector(y[0]), this.#nonce(y[1])],
      echo: this.#nonce(x),
    }
  }

  /** 0 if there is none, -1 if nobody has sent it. */
  #nonce(nonce: string | undefined): number {
    return nonce === undefined ? 0 : (this.#nonces.get(nonce) ?? -1)
  }
}
