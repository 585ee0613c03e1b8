import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runTests, type TestRun } from '../mutants/run-mutant.ts'
import type { Reached } from './reached.ts'

/** A test file without a mutant. */
export interface SoundRun extends Reached {
  readonly durationMs: number
}

/** Runs test files without a mutant, and notes what each of them runs of the sources. @throws Error if a test fails */
export async function runSoundly(tests: readonly string[]): Promise<readonly SoundRun[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tenure-reached-'))
  try {
    const run = await runTests(undefined, tests, {
      bail: false,
      config: 'test/mutation/vitest.config.ts',
      variables: { TENURE_REACHED: folder },
    })
    const failed = failureOf(run)
    if (failed !== undefined) throw new Error(`Expected the tests to pass without a mutant, but ${failed} failed`)
    return readdirSync(folder).map((name) => {
      const reached = JSON.parse(readFileSync(join(folder, name), 'utf8')) as Reached
      return { ...reached, durationMs: run.durations.get(reached.test) ?? 0 }
    })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** What makes a run of tests fail. Undefined if all tests pass. */
function failureOf({ failed, broken, isTimeout, exitCode, passed }: TestRun): string | undefined {
  if (isTimeout) return 'the time limit'
  const [failure] = failed
  if (failure !== undefined) return `"${failure}"`
  const [unloaded] = broken
  if (unloaded !== undefined) return `a test file that cannot be loaded: ${unloaded.split('\n')[0]}`
  return exitCode === 0 && passed > 0 ? undefined : 'an error outside of the tests'
}
