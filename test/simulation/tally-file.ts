import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { RANGE, type SeedRange } from './seed-ranges.ts'
import { add, emptyTally, type Tally } from './tally.ts'

/** The results of ranges of seeds, in a file if there is one, so that a long run can be interrupted. */
export class TallyFile {
  readonly tally: Tally
  readonly #file: string | undefined
  readonly #sources: string
  readonly #done: Set<number>
  readonly #elapsedBeforeMs: number
  readonly #began = performance.now()

  /** `sources`: a hash of the sources that run. @throws Error if the file has the results of other sources */
  constructor(file: string | undefined, sources: string) {
    this.#file = file
    this.#sources = sources
    const saved = readSaved(file) ?? { sources, tally: emptyTally(), done: [], elapsedMs: 0 }
    if (saved.sources !== sources) {
      throw new Error(
        `Expected ${file} to have results of these sources, got those of others: delete it to begin again`,
      )
    }
    this.tally = saved.tally
    this.#done = new Set(saved.done.flatMap(([from, to]) => firstsOf(from, to)))
    this.#elapsedBeforeMs = saved.elapsedMs
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
    const saved: Saved = {
      sources: this.#sources,
      elapsedMs: this.elapsedMs,
      done: stretchesOf([...this.#done]),
      tally: this.tally,
    }
    writeFileSync(`${this.#file}.new`, `${JSON.stringify(saved, undefined, 2)}\n`)
    renameSync(`${this.#file}.new`, this.#file)
  }
}

interface Saved {
  readonly sources: string
  readonly elapsedMs: number
  /** The first seeds of the first and the last range of each stretch of ranges without a gap. */
  readonly done: readonly (readonly [number, number])[]
  readonly tally: Tally
}

function firstsOf(from: number, to: number): readonly number[] {
  return Array.from({ length: (to - from) / RANGE + 1 }, (_, index) => from + index * RANGE)
}

function stretchesOf(firsts: readonly number[]): Saved['done'] {
  const stretches: [number, number][] = []
  for (const first of firsts.toSorted((a, b) => a - b)) {
    const last = stretches.at(-1)
    if (last?.[1] === first - RANGE) last[1] = first
    else stretches.push([first, first])
  }
  return stretches
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
