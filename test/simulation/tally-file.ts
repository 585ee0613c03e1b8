import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import type { SeedRange } from './seed-ranges.ts'
import { add, emptyTally, type Tally } from './tally.ts'

/** The results of ranges of seeds, in a file if there is one, so that a long run can be interrupted. */
export class TallyFile {
  readonly tally: Tally
  readonly #file: string | undefined
  readonly #done: Set<number>
  readonly #elapsedBeforeMs: number
  readonly #began = performance.now()

  constructor(file: string | undefined) {
    this.#file = file
    const { tally, done, elapsedMs } = readSaved(file) ?? { tally: emptyTally(), done: [], elapsedMs: 0 }
    this.tally = tally
    this.#done = new Set(done)
    this.#elapsedBeforeMs = elapsedMs
  }

  /** The milliseconds of this run, and of the earlier ones that it continues. */
  get elapsedMs(): number {
    return this.#elapsedBeforeMs + performance.now() - this.#began
  }

  has({ first }: SeedRange): boolean {
    return this.#done.has(first)
  }

  add({ first }: SeedRange, tally: Tally): void {
    add(this.tally, tally)
    this.#done.add(first)
    if (this.#file === undefined) return
    const saved: Saved = { tally: this.tally, done: [...this.#done], elapsedMs: this.elapsedMs }
    writeFileSync(`${this.#file}.new`, JSON.stringify(saved))
    renameSync(`${this.#file}.new`, this.#file)
  }
}

interface Saved {
  readonly tally: Tally
  /** The first seeds of the ranges. */
  readonly done: readonly number[]
  readonly elapsedMs: number
}

function readSaved(file: string | undefined): Saved | undefined {
  if (file === undefined) return undefined
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Saved
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}
