import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ChangedFile } from '../mutants/changed-file.ts'
import { functionAt } from './marks.ts'
import { type Mutant, withMutant } from './mutant.ts'
import type { RelatedTests } from './related-tests.ts'
import { runSoundly, type SoundRun } from './sound-run.ts'
import type { TestProcess } from './test-process.ts'
import type { TypeCheck } from './type-check.ts'
import type { UnchangedFiles } from './unchanged-files.ts'
import type { VerdictCache } from './verdict-cache.ts'

/** What a test run may take in addition to a multiple of its time without a mutant, in milliseconds. */
const SPARE_MS = 30_000

/** How many times its usual time a test run may take before the mutant counts as an endless loop. */
const PATIENCE = 4

/** What it takes to begin with a test file, in milliseconds. */
const START_MS = 500

/** How often a test file was run for the mutants of a source file, and how many of them it noticed. */
interface Tally {
  runs: number
  kills: number
}

/** What the judge works with. */
interface Tools {
  readonly types: TypeCheck
  readonly related: RelatedTests
  readonly cache: VerdictCache
  /** What tests read, by imports or otherwise. */
  readonly files: UnchangedFiles
}

/** Finds out what notices a mutant: first the types, then the unit tests that run the function in which it is. */
export class Judge {
  readonly #root: string
  readonly #tools: Tools
  readonly #sources = new Map<string, string>()
  /** Milliseconds that each test file takes. */
  readonly #durations = new Map<string, number>()
  /** The test files that run each function. */
  readonly #reaching = new Map<string, Set<string>>()
  /** By the source file and the test file. */
  readonly #tallies = new Map<string, Tally>()

  constructor(root: string, tools: Tools) {
    this.#root = root
    this.#tools = tools
  }

  /** The error of the compiler that notices a mutant, if any. */
  typeErrorOf(mutant: Mutant): string | undefined {
    const { types, related } = this.#tools
    const { file } = mutant
    return types.errorOf(file, withMutant(mutant, this.sourceOf(file)), related.importersOf(file))
  }

  /**
   * Runs the tests of these files as they are, and measures them. Every file must have been given to it before a mutant of it is tested.
   * @throws Error if a test fails
   */
  async measure(files: readonly string[]): Promise<void> {
    const { related, cache } = this.#tools
    const tests = [...new Set(files.flatMap((file) => related.testsOf(file)))]
    if (tests.length === 0) return
    const kept = tests.flatMap((test) => (cache.get(this.#soundly(test)) as SoundRun | undefined) ?? [])
    const missing = tests.filter((test) => !kept.some((run) => run.test === test))
    const fresh = missing.length === 0 ? [] : await runSoundly(missing)
    this.#tools.files.assert()
    for (const run of fresh) cache.keep(this.#soundly(run.test), run)
    for (const { test, durationMs, functions } of [...kept, ...fresh]) {
      this.#durations.set(test, durationMs)
      for (const name of functions) this.#reaching.set(name, (this.#reaching.get(name) ?? new Set()).add(test))
    }
  }

  /** What the sound run of a test file depends on. */
  #soundly(test: string): readonly string[] {
    return ['sound', test, this.#tools.related.hashOf([test])]
  }

  /** The test that notices a mutant, or another failure of the run. Undefined if all tests pass. */
  async failureOf(mutant: Mutant, runner: TestProcess): Promise<string | undefined> {
    const { related, cache, files } = this.#tools
    const { file } = mutant
    const code = withMutant(mutant, this.sourceOf(file))
    const tests = this.#testsOf(mutant)
    const { killedBy } = await cache.resolve([file, code, ...tests.toSorted(), related.hashOf(tests)], async () => {
      const failure = await this.#firstFailureOf({ file, code }, tests, runner)
      files.assert()
      return { killedBy: failure }
    })
    return killedBy
  }

  async #firstFailureOf(
    changed: ChangedFile,
    tests: readonly string[],
    runner: TestProcess,
  ): Promise<string | undefined> {
    for (const test of tests) {
      const failure = await runner.failureOf(changed, { test, limitMs: SPARE_MS + PATIENCE * this.#durationOf(test) })
      const tally = this.#tallyOf(changed.file, test)
      tally.runs += 1
      if (failure === undefined) continue
      tally.kills += 1
      return failure
    }
    return undefined
  }

  /**
   * The test files that run the function in which a mutant is. Those come first that cost little for the chance that they notice it: tests
   * that are quick, that are near, and that noticed other mutants of the file.
   */
  #testsOf(mutant: Mutant): readonly string[] {
    const { file } = mutant
    const reaching = this.#reaching.get(functionAt(file, this.sourceOf(file), mutant))
    return this.#tools.related
      .testsOf(file)
      .filter((test) => reaching?.has(test))
      .map((test, place) => {
        const { runs, kills } = this.#tallyOf(file, test)
        const chance = (kills + 1 / (place + 1)) / (runs + 1)
        return { test, cost: (START_MS + this.#durationOf(test)) / chance }
      })
      .toSorted((a, b) => a.cost - b.cost)
      .map(({ test }) => test)
  }

  #tallyOf(file: string, test: string): Tally {
    const key = `${file} ${test}`
    const tally = this.#tallies.get(key) ?? { runs: 0, kills: 0 }
    this.#tallies.set(key, tally)
    return tally
  }

  #durationOf(test: string): number {
    return this.#durations.get(test) ?? 0
  }

  /** The text of a source file. */
  sourceOf(file: string): string {
    const source = this.#sources.get(file) ?? readFileSync(join(this.#root, file), 'utf8')
    this.#sources.set(file, source)
    return source
  }
}
