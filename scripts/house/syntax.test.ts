import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')

/** Node 22 runs these sources as they are. The lock conformance suite runs in a test runner, which converts it. */
const SOURCES = ['packages/*/src/**/*.ts', ':!packages/testing/src/lock-conformance', 'examples/**/*.ts']

it('no source that Node runs directly declares a resource with `using`, which Node 22 cannot parse', () => {
  const files = execFileSync('git', ['ls-files', ...SOURCES], { cwd: ROOT, encoding: 'utf8' })
    .trim()
    .split('\n')
  expect(files.length).toBeGreaterThan(500)
  const found = files.filter((file) => /^\s*(?:await )?using \w+ =/m.test(readFileSync(join(ROOT, file), 'utf8')))
  expect(found).toEqual([])
})
