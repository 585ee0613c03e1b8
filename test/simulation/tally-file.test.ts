import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { RANGE, type SeedRange, successive } from './seed-ranges.ts'
import { emptyTally, type Tally } from './tally.ts'
import { TallyFile } from './tally-file.ts'

const RANGES = successive({ first: 100, end: 100 + 5.5 * RANGE, endpoints: false })

function rangeAt(index: number): SeedRange {
  const range = RANGES[index]
  if (range === undefined) throw new Error(`There is no range ${index}`)
  return range
}

interface TallyResults {
  readonly results: { readonly tally: Tally }
}

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tenure-tally-'))
  file = join(folder, 'run.json')
})
afterEach(() => rmSync(folder, { recursive: true }))

test.each([
  ['no range', []],
  ['ranges with gaps, in any order', [4, 0, 1]],
  ['all ranges', [0, 1, 2, 3, 4, 5]],
])('A run that is continued knows what was done: %s', (_, done) => {
  const first = new TallyFile(file, 'run')
  for (const index of done) first.add(rangeAt(index), { ...emptyTally(), seeds: RANGE, broken: [`s4-${index}`] })
  const next = new TallyFile(file, 'run')
  expect(RANGES.flatMap((range, index) => (next.has(range) ? [index] : []))).toEqual(done.toSorted((a, b) => a - b))
  expect(next.tally.seeds).toBe(RANGE * done.length)
  expect(next.tally.broken).toEqual(done.map((index) => `s4-${index}`))
})

test('The results of another run are refused, and kept', () => {
  new TallyFile(file, 'run').add(rangeAt(0), emptyTally())
  const before = readFileSync(file, 'utf8')
  expect(() => new TallyFile(file, 'another')).toThrow(`Expected ${file} to have results of this run`)
  expect(readFileSync(file, 'utf8')).toBe(before)
})

test('The committed results of long runs broke no rule', () => {
  for (const name of globSync('long*.json', { cwd: import.meta.dirname })) {
    const { results } = JSON.parse(readFileSync(join(import.meta.dirname, name), 'utf8')) as TallyResults
    expect({ name, broken: results.tally.broken }).toEqual({ name, broken: [] })
  }
})
