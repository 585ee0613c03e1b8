import { expect, test } from 'vitest'
import { mulberry32 } from '../../core/test/election/fleet.ts'
import { checkFiles } from '../src/check-trace/check-files.ts'
import { TraceFile } from '../src/check-trace/trace-file.ts'

/** The lines in the order in which they are taken, as the file and the number of each. The lines are no trace, so that each is refused. */
function orderOf(files: Readonly<Record<string, readonly (number | undefined)[]>>): readonly string[] {
  const traces = Object.entries(files).map(
    ([name, times]) => new TraceFile(name, [times.map((m) => JSON.stringify({ m }))]),
  )
  return checkFiles(traces).findings.map(({ file, line }) => `${file}${line}`)
}

test('Lines are taken in the order of their times, and those without a time with the line before them', () => {
  const order = orderOf({ a: [1, 5, undefined, 9], late: [6, 8], b: [2, 3, 7], none: [] })
  expect(order).toEqual(['a1', 'b1', 'b2', 'a2', 'a3', 'late1', 'b3', 'late2', 'a4'])
})

test('Lines before the first time come first, file after file', () => {
  expect(orderOf({ a: [undefined, 4], b: [undefined, undefined], c: [undefined, 3] })).toEqual(
    'a1 b1 b2 c1 c2 a2'.split(' '),
  )
})

test('Of lines of one time, those of the earlier file come first', () => {
  expect(orderOf({ a: [3, 4], b: [1, 4], c: [4] })).toEqual(['b1', 'a1', 'a2', 'b2', 'c1'])
})

test('A file that begins when the others have ended is taken as well', () => {
  expect(orderOf({ late: [7, 8], a: [1], later: [9] })).toEqual(['a1', 'late1', 'late2', 'later1'])
})

test('Of many files, every line is taken once and in order', () => {
  for (let seed = 0; seed < 50; seed += 1) {
    const random = mulberry32(seed)
    const files = Array.from({ length: 12 }, (_, index): [string, readonly number[]] => {
      const times = Array.from({ length: Math.floor(random() * 9) }, () => Math.floor(random() * 40))
      return [String.fromCodePoint(97 + index), times.toSorted((a, b) => a - b)]
    })
    const timeOf = new Map(files.flatMap(([name, times]) => times.map((m, index) => [`${name}${index + 1}`, m])))
    const order = orderOf(Object.fromEntries(files))
    expect(order.toSorted()).toEqual([...timeOf.keys()].toSorted())
    const times = order.map((line) => timeOf.get(line) ?? NaN)
    expect(times).toEqual(times.toSorted((a, b) => a - b))
  }
})
