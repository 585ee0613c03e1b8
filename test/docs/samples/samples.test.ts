import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { allSamples } from './all-samples.ts'
import { checkSamplesWith, isProgram } from './check-samples.ts'
import { Programs } from './programs.ts'
import { runOf } from './run-sample.ts'
import { placeOf } from './sample.ts'

/* Every sample of the documents and docstrings is compiled or parsed. Samples that are programs run, each in a process of its own. */

const samples = allSamples(join(import.meta.dirname, '../../..'))
const programs = new Programs(samples.filter(isProgram))
const problems = checkSamplesWith(programs, samples)
const cases = samples.map((sample) => {
  const run = runOf(sample)
  return { sample, place: placeOf(sample), run, isSound: run === undefined ? 'is sound' : 'is sound and runs' }
})

afterAll(() => programs[Symbol.dispose]())

describe.concurrent('The sample', () => {
  test.each(cases)('$place $isSound', async ({ sample, run }) => {
    expect(problems.get(sample) ?? []).toEqual([])
    expect((await run?.(programs)) ?? []).toEqual([])
  })
})
