import { expect, test } from 'vitest'
import { seededRandom } from '../differential/seeded-random.ts'
import { sampleOf } from './sample.ts'

const ITEMS = Array.from({ length: 100 }, (_, index) => index)

test('A seed gives the same sample again, and another seed another one', () => {
  expect(sampleOf(ITEMS, 10, seededRandom(1))).toEqual(sampleOf(ITEMS, 10, seededRandom(1)))
  expect(sampleOf(ITEMS, 10, seededRandom(1))).not.toEqual(sampleOf(ITEMS, 10, seededRandom(2)))
})

test('A sample has no item twice, and is everything at most', () => {
  expect(sampleOf(ITEMS, 1000, seededRandom(1)).toSorted((a, b) => a - b)).toEqual(ITEMS)
  expect(sampleOf(ITEMS, undefined, seededRandom(1))).toEqual(ITEMS)
})
