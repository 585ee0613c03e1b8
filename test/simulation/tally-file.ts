import { ResultsFile } from '../../bench/results-file.ts'
import { RANGE, type SeedRange } from './seed-ranges.ts'
import { add, emptyTally, type Tally } from './tally.ts'

/** The results of ranges of seeds, in a file if there is one, so that a long run can be interrupted. */
export class TallyFile {
  readonly tally: Tally
  readonly #file: ResultsFile<Results>
  readonly #done: Set<number>

  /** `run`: the sources and the seeds. @throws Error if the file has the results of others */
  constructor(file: string | undefined, run: string) {
    this.#file = new ResultsFile<Results>(file, run, { done: [], tally: emptyTally() })
    const { tally, done } = this.#file.earlier
    this.tally = tally
    this.#done = new Set(done.flatMap(([from, to]) => firstsOf(from, to)))
  }

  /** The milliseconds of this run, and of the earlier ones that it continues. */
  get elapsedMs(): number {
    return this.#file.elapsedMs
  }

  has({ first }: SeedRange): boolean {
    return this.#done.has(first)
  }

  add({ first }: SeedRange, tally: Tally): void {
    add(this.tally, tally)
    this.#done.add(first)
    this.#file.save({ done: stretchesOf([...this.#done]), tally: this.tally })
  }
}

interface Results {
  /** The first seeds of the first and the last range of each stretch of ranges without a gap. */
  readonly done: readonly (readonly [number, number])[]
  readonly tally: Tally
}

function firstsOf(from: number, to: number): readonly number[] {
  return Array.from({ length: (to - from) / RANGE + 1 }, (_, index) => from + index * RANGE)
}

function stretchesOf(firsts: readonly number[]): Results['done'] {
  const stretches: [number, number][] = []
  for (const first of firsts.toSorted((a, b) => a - b)) {
    const last = stretches.at(-1)
    if (last?.[1] === first - RANGE) last[1] = first
    else stretches.push([first, first])
  }
  return stretches
}
