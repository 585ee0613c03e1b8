import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')

/** Node 22 runs these sources as they are. The lock conformance suite runs in a test runner, which converts it. */
const SOURCES = ['packages/*/src/**/*.ts', ':!packages/testing/src/lock-conformance', 'examples/**/*.ts']

/** Users bundle these into one file. */
const BUNDLED = ['core', 'kubernetes', 'ops', 'tenure'].map((name) => `packages/${name}/src/**/*.ts`)

it('no source that Node runs directly declares a resource with `using`, which Node 22 cannot parse', () => {
  const files = trackedFiles(SOURCES)
  expect(files.length).toBeGreaterThan(500)
  expect(filesWith(files, /^\s*(?:await )?using \w+ =/m)).toEqual([])
})

it('no source that users bundle loads a file of its own on demand, which would make a second file of the bundle', () => {
  const files = trackedFiles(BUNDLED)
  expect(files.length).toBeGreaterThan(300)
  expect(filesWith(files, /\bimport\(\s*'\.{1,2}\//)).toEqual([])
})

function trackedFiles(patterns: readonly string[]): readonly string[] {
  return execFileSync('git', ['ls-files', ...patterns], { cwd: ROOT, encoding: 'utf8' })
    .trim()
    .split('\n')
}

function filesWith(files: readonly string[], pattern: RegExp): readonly string[] {
  return files.filter((file) => pattern.test(readFileSync(join(ROOT, file), 'utf8')))
}
