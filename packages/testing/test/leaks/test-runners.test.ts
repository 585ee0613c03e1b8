import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'

const FIXTURES = join(import.meta.dirname, 'fixtures')
const VITEST = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs')

interface Run {
  readonly code: number
  readonly output: string
}

/** Runs a script with the node of this process, from source. */
function run(args: readonly string[]): Promise<Run> {
  const env = { ...process.env, NO_COLOR: '1', NODE_TEST_CONTEXT: undefined }
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      ['--conditions=@tenure/source', ...args],
      { env, cwd: FIXTURES },
      (_error, stdout, stderr) => resolve({ code: child.exitCode ?? -1, output: stdout + stderr }),
    )
  })
}

describe('the setup file for vitest', () => {
  it('fails the tests that leave something behind once their hooks have run, and only those', async () => {
    const { code, output } = await run([VITEST, 'run', '--config', 'vitest.config.ts', '--reporter=tap-flat'])
    expect(code).toBe(1)
    const verdicts = output.split('\n').filter((line) => /^(?:not )?ok \d+/.test(line))
    expect(verdicts.map((line) => line.replace(/ # time=.*/, ''))).toEqual([
      'ok 1 - vitest.spec.ts > a suite > passes when nothing is left',
      'ok 2 - vitest.spec.ts > a suite > passes when its own hooks clean up',
      'not ok 3 - vitest.spec.ts > a suite > fails when it leaves a listener',
      'not ok 4 - vitest.spec.ts > a suite > fails once when its own check has found the leak',
      'not ok 5 - vitest.spec.ts > a suite > fails once when its own check has found a loop',
      'ok 6 - vitest.spec.ts > a suite > passes after a failure, when the loop is over',
      'ok 7 - vitest.spec.ts > a suite > passes after a failure',
      'ok 8 - vitest.spec.ts > a suite > passes beside another',
      'not ok 9 - vitest.spec.ts > a suite > fails or its neighbour does',
    ])
    const places = [...output.matchAll(/created at (vitest\.spec\.ts:\d+)/g)].map(([, place]) => place)
    expect(places).toEqual(['vitest.spec.ts:21', 'vitest.spec.ts:26', 'vitest.spec.ts:32', 'vitest.spec.ts:50'])
  }, 60_000)
})

describe('node:test', () => {
  it('reports a leak as the failure of its test', async () => {
    const { code, output } = await run(['--test-reporter=tap', 'node-test.ts'])
    expect(code).toBe(1)
    expect(output).toMatch(/^ok 1 - passes when nothing is left$/m)
    expect(output).toMatch(/^not ok 2 - fails when it leaves a timer$/m)
    expect(output).toMatch(/^ok 3 - passes when subtests and mocks of the runner come and go$/m)
    expect(output).toMatch(/created at node-test\.ts:13:5/)
  }, 60_000)
})
