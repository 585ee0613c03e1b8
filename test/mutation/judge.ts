import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runTests, type TestRun } from '../mutants/run-mutant.ts'
import { type Mutant, withMutant } from './mutant.ts'
import type { RelatedTests } from './related-tests.ts'
import type { TypeCheck } from './type-check.ts'
import type { VerdictCache } from './verdict-cache.ts'

/** What a test run may take in addition to a multiple of its time without a mutant, in milliseconds. */
const SPARE_MS = 30_000

/** How many times its usual time a test run may take before the mutant counts as an endless loop. */
const PATIENCE = 4

/** What the judge works with. */
interface Tools {
  readonly types: TypeCheck
  readonly related: RelatedTests
  readonly cache: VerdictCache
}

/** Finds out what notices a mutant: first the types, then the unit tests that are related to its file. */
export class Judge {
  readonly #root: string
  readonly #tools: Tools
  readonly #sources = new Map<string, string>()
  readonly #hashes = new Map<string, string>()
  #durations: Readonly<Record<string, number>> = {}

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
    this.#durations = await cache.resolve(['durations', ...tests, related.hashOf(tests)], async () => {
      const run = await runTests(undefined, tests, { bail: false })
      const failed = failureOf(run)
      if (failed !== undefined) throw new Error(`Expected the tests to pass without a mutant: ${failed}`)
      return Object.fromEntries(run.durations)
    })
  }

  /** The test that notices a mutant, or another failure of the run. Undefined if all tests pass. */
  async failureOf(mutant: Mutant): Promise<string | undefined> {
    const { related, cache } = this.#tools
    const { file } = mutant
    const tests = related.testsOf(file)
    if (tests.length === 0) return undefined
    const code = withMutant(mutant, this.sourceOf(file))
    const { killedBy } = await cache.resolve([file, code, this.#hashOf(file, tests)], async () => {
      const usualMs = tests.reduce((sum, test) => sum + (this.#durations[test] ?? 0), 0)
      const limitMs = SPARE_MS + PATIENCE * usualMs
      return { killedBy: failureOf(await runTests({ file, code }, tests, { limitMs })) }
    })
    return killedBy
  }

  /** The text of a source file. */
  sourceOf(file: string): string {
    const source = this.#sources.get(file) ?? readFileSync(join(this.#root, file), 'utf8')
    this.#sources.set(file, source)
    return source
  }

  #hashOf(file: string, tests: readonly string[]): string {
    const hash = this.#hashes.get(file) ?? this.#tools.related.hashOf(tests)
    this.#hashes.set(file, hash)
    return hash
  }
}

function failureOf({ failed, broken, isTimeout, exitCode, passed }: TestRun): string | undefined {
  if (isTimeout) return 'the time limit'
  const [failure] = failed
  if (failure !== undefined) return `"${failure}"`
  const [unloaded] = broken
  if (unloaded !== undefined) return `a test file that cannot be loaded: ${unloaded.split('\n')[0]}`
  return exitCode === 0 && passed > 0 ? undefined : 'an error outside of the tests'
}
