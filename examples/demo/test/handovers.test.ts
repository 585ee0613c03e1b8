import { expect, test } from 'vitest'
import { Chronicle } from '../record/chronicle.ts'
import { cleanHandovers, median, takeovers } from '../record/handovers.ts'

const a = { name: 'replica-a', pid: 1 }
const b = { name: 'replica-b', pid: 2 }

/** A leads from 100 to its end; B leads later. */
function chronicle(): Chronicle {
  const chronicle = new Chronicle()
  chronicle.take(a, { kind: 'term-began', epoch: 10n, at: 99 })
  chronicle.take(a, { kind: 'run-began', epoch: 10n, at: 100 })
  return chronicle
}

function thenB(chronicle: Chronicle, at: number): Chronicle {
  chronicle.take(b, { kind: 'term-began', epoch: 23n, at })
  chronicle.take(b, { kind: 'run-began', epoch: 23n, at })
  return chronicle
}

test('A handover is timed from the decision of the leader to the first act of its successor', () => {
  const told = chronicle()
  told.take(a, { kind: 'term-ending', epoch: 10n, reason: 'step-down', at: 200 })
  told.take(a, { kind: 'run-over', epoch: 10n, at: 205 })
  const over = { epoch: 10n, reason: 'step-down', outcome: 'released', drain: 'clean', drainMs: 5 } as const
  told.take(a, { kind: 'term-over', ...over, at: 210 })
  const { terms } = thenB(told, 240)
  expect(cleanHandovers(terms).map(({ ms }) => ms)).toEqual([40])
  expect(takeovers(terms)).toEqual([])
})

test('The end of a process ends its runs, and the succession is timed from there', () => {
  const told = chronicle()
  told.gone(a, 300)
  const { terms } = thenB(told, 3100)
  expect(terms[0]?.runs[0]?.overAt).toBe(300)
  expect(takeovers(terms).map(({ ms }) => ms)).toEqual([2800])
  expect(cleanHandovers(terms)).toEqual([])
})

test('Terms are in the order of their epochs even when their reports are not', () => {
  const told = thenB(new Chronicle(), 240)
  told.take(a, { kind: 'term-began', epoch: 10n, at: 99 })
  expect(told.terms.map(({ epoch }) => epoch)).toEqual([10n, 23n])
})

test('The median of an even number of values is the mean of the middle two', () => {
  expect([median([]), median([3]), median([4, 1]), median([9, 1, 2])]).toEqual([undefined, 3, 2.5, 2])
})
