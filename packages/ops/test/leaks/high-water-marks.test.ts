import { expect, test } from 'vitest'
import { HighWaterMarks } from '../../src/leaks/high-water-marks.ts'

const steady = (name: string, count: number) => ({ kind: 'metric', name, count, fluctuates: false })
const fluctuating = (name: string, count: number) => ({ kind: 'resource', name, count, fluctuates: true })

/** What the marks report for each of these counts, one after the other. */
function reports(counted: typeof steady, counts: readonly number[]): readonly (readonly number[])[] {
  const marks = new HighWaterMarks()
  return counts.map((count) => marks.update([counted('queue', count)]).map(({ by }) => by))
}

test('a count that does not fluctuate is reported whenever it exceeds its maximum, by how much', () => {
  expect(reports(steady, [5, 5, 6, 6, 4, 6, 9])).toEqual([[], [], [1], [], [], [], [3]])
})

test('a count that fluctuates is reported at its third rise in a row, and from then on at each further one', () => {
  expect(reports(fluctuating, [5, 6, 8, 11, 12, 12, 13, 14, 15])).toEqual([[], [], [], [6], [1], [], [], [], [3]])
  expect(reports(fluctuating, [5, 6, 6, 7, 8, 9])).toEqual([[], [], [], [], [], [3]])
})

test('a report names the count; counts of another kind or name do not matter to it', () => {
  const marks = new HighWaterMarks()
  marks.update([steady('a', 1), fluctuating('a', 4), steady('b', 7)])
  expect(marks.update([steady('a', 2), fluctuating('a', 4), steady('b', 7)])).toEqual([
    { kind: 'metric', name: 'a', by: 1 },
  ])
  expect(marks.update([steady('new', 2)])).toEqual([{ kind: 'metric', name: 'new', by: 2 }])
})

test('names beyond the 5000th are not watched, so that they are not reported after every term', () => {
  const marks = new HighWaterMarks()
  const all = (count: number) => Array.from({ length: 5002 }, (_, index) => steady(`m${index}`, count))
  expect(marks.update(all(1))).toEqual([])
  expect(marks.update(all(1))).toEqual([])
  const rises = marks.update(all(2))
  expect(rises.length).toBe(5000)
  expect(rises.at(-1)?.name).toBe('m4999')
})
