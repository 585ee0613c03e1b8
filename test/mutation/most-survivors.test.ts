import { expect, test } from 'vitest'
import { seededRandom } from '../differential/seeded-random.ts'
import { mostSurvivors } from './most-survivors.ts'

test('A small sample may miss the score by far, a large one hardly', () => {
  expect([0, 1, 10, 100, 10_000].map((sample) => mostSurvivors(sample, 0.95))).toEqual([0, 1, 4, 13, 569])
})

test('Samples of sources that reach the score exceed the limit in one of 1000 cases at most', () => {
  const random = seededRandom(1)
  const survivors = () => Array.from({ length: 50 }, () => random() < 0.05).filter(Boolean).length
  const alarms = Array.from({ length: 20_000 }, () => survivors() > mostSurvivors(50, 0.95)).filter(Boolean).length
  expect(alarms).toBeGreaterThan(0)
  expect(alarms).toBeLessThan(30)
})
