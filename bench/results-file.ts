import { readFileSync, renameSync, writeFileSync } from 'node:fs'

/** How far a long run has come, in a file if there is one, so that this or another machine can continue. */
export class ResultsFile<Results> {
  /** The results of earlier runs. */
  readonly earlier: Results
  readonly #file: string | undefined
  readonly #run: string
  readonly #elapsedBeforeMs: number
  readonly #began = performance.now()

  /**
   * `run`: a hash of the sources that run, and what they run on if only results of the same count. `none`: the results at first.
   *
   * @throws Error if the file has the results of another run
   */
  constructor(file: string | undefined, run: string, none: Results) {
    this.#file = file
    this.#run = run
    const saved = file === undefined ? undefined : (readIfPresent(file) as Saved<Results> | undefined)
    if (saved !== undefined && saved.run !== run) {
      throw new Error(
        `Expected ${file} to have results of this run, got those of another one or of other sources: delete it to begin again`,
      )
    }
    this.earlier = saved?.results ?? none
    this.#elapsedBeforeMs = saved?.elapsedMs ?? 0
  }

  /** The milliseconds of this run, and of the earlier ones that it continues. */
  get elapsedMs(): number {
    return this.#elapsedBeforeMs + performance.now() - this.#began
  }

  save(results: Results): void {
    if (this.#file === undefined) return
    const saved: Saved<Results> = { run: this.#run, elapsedMs: Math.round(this.elapsedMs), results }
    writeFileSync(`${this.#file}.new`, `${JSON.stringify(saved, undefined, 2)}\n`)
    renameSync(`${this.#file}.new`, this.#file)
  }
}

interface Saved<Results> {
  readonly run: string
  readonly elapsedMs: number
  readonly results: Results
}

function readIfPresent(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}
