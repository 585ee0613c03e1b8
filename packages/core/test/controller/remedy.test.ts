import { expect, test } from 'vitest'
import { remedyFor } from '../../src/controller/remedy.ts'

const TAKEN = 'A metric with the name runs_total has already been registered.'

test('A metric that a former run has left in the global registry has a remedy', () => {
  expect(remedyFor(new Error(TAKEN))).toBe(
    ' Define it with `registers: [metrics(term)]`: such a metric ends with its run',
  )
})

test('A failure that only quotes that message has none, and neither has any other', () => {
  expect(remedyFor(new Error(`The log has the line: ${TAKEN} Try again`))).toBe('')
  expect(remedyFor(new Error('A metric with the name of a run is missing'))).toBe('')
})
