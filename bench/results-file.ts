import { readFileSync, renameSync, writeFileSync } from 'node:fs'

/** The results of a long run so far, in a file if there is one, so that this or another machine can continue. They are results of one state of the sources. */
export class ResultsFile<Results> {
  /** The results of earlier runs. */
  readonly earlier: Results
  readonly #file: string | undefined
  readonly #sources: string
  readonly #elapsedBeforeMs: number
  readonly #began = performance.now()

  /** `sources`: a hash of the sources that run. `none`: the results before the first run. @throws Error if the file has the results of other sources */
  constructor(file: string | undefined, sources: string, none: Results) {
    this.#file = file
    this.#sources = sources
    const saved = file === undefined ? undefined : (readIfPresent(file) as Saved<Results> | undefined)
    if (saved !== undefined && saved.sources !== sources) {
      throw new Error(
        `Expected ${file} to have results of these sources, got those of others: delete it to begin again`,
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
    const saved: Saved<Results> = { sources: this.#sources, elapsedMs: Math.round(this.elapsedMs), results }
    writeFileSync(`${this.#file}.new`, `${JSON.stringify(saved, undefined, 2)}\n`)
    renameSync(`${this.#file}.new`, this.#file)
  }
}

interface Saved<Results> {
  readonly sources: string
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
