import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { allSamples } from './all-samples.ts'
import { checkSamplesWith, isProgram } from './check-samples.ts'
import { Programs } from './programs.ts'
import { runOf } from './run-sample.ts'
import { placeOf } from './sample.ts'

/* Every sample of the documents and docstrings is compiled or parsed. Samples that are programs run, each in a process of its own. */

const ROOT = join(import.meta.dirname, '../../..')
const samples = allSamples(ROOT)
const programs = new Programs(samples.filter(isProgram))
const problems = checkSamplesWith(programs, samples)
const cases = samples.map((sample) => {
  const run = runOf(sample)
  return { sample, place: placeOf(sample), run, isSound: run === undefined ? 'is sound' : 'is sound and runs' }
})

afterAll(() => programs[Symbol.dispose]())

test('Every fenced block of a document or docstring is a sample', () => {
  const patterns = [
    '*.md',
    'docs/**/*.md',
    '{packages,examples}/*/README.md',
    'packages/ops/monitoring/*.md',
    'spec/*.md',
    '{packages/*/src,examples}/**/*.ts',
  ]
  const fences = globSync(patterns, { cwd: ROOT, exclude: ['**/node_modules/**', '**/test/**'] })
    .map((file) => [file, readFileSync(join(ROOT, file), 'utf8').match(/^ *(?:\* )?```/gm) ?? []] as const)
    .filter(([, found]) => found.length > 0)
    .map(([file, found]) => [file, found.length / 2] as const)
  const counted = Map.groupBy(samples, ({ file }) => file)
  expect(new Map([...counted].map(([file, found]) => [file, found.length]))).toEqual(new Map(fences))
})

describe.concurrent('The sample', () => {
  test.each(cases)('$place $isSound', async ({ sample, run }) => {
    expect(problems.get(sample) ?? []).toEqual([])
    expect((await run?.(programs)) ?? []).toEqual([])
  })
})
