import { expect, test } from 'vitest'
import { LeakWatch } from '../observer/leak-watch.ts'

const a = { name: 'replica-a', pid: 1 }
const b = { name: 'replica-b', pid: 2 }

/** A replica that was a follower with two timers, and has led one term. */
function afterOneTerm(): LeakWatch {
  const leaks = new LeakWatch()
  leaks.followerHolds(a, { Timeout: 2 })
  leaks.termBegan(a)
  leaks.termOver(a, 10n)
  return leaks
}

test('A follower that holds what it held before its term leaks nothing', () => {
  const leaks = afterOneTerm()
  leaks.followerHolds(a, { Timeout: 2 })
  expect([leaks.leaks, leaks.cleared, leaks.isCleared(a)]).toEqual([[], 1, true])
})

test('A follower that holds more than before its term leaks what is too much', () => {
  const leaks = afterOneTerm()
  leaks.followerHolds(a, { Timeout: 3, 'check livez/janitor.queue': 1 })
  expect(leaks.leaks).toEqual([
    { replica: a, epoch: 10n, excess: ['Timeout: 3, was 2', 'check livez/janitor.queue: 1, was 0'] },
  ])
  expect([leaks.cleared, leaks.isCleared(a)]).toEqual([0, false])
})

test('What is given back a moment later is no leak', () => {
  const leaks = afterOneTerm()
  leaks.followerHolds(a, { Timeout: 3 })
  leaks.followerHolds(a, { Timeout: 2 })
  expect([leaks.leaks, leaks.cleared]).toEqual([[], 1])
})

test('What is given back only in the next term is a leak', () => {
  const leaks = afterOneTerm()
  leaks.followerHolds(a, { Timeout: 3 })
  leaks.termBegan(a)
  leaks.termOver(a, 20n)
  leaks.followerHolds(a, { Timeout: 2 })
  expect(leaks.leaks.map(({ epoch }) => epoch)).toEqual([10n])
})

test('A process that ends while it holds too much has leaked', () => {
  const leaks = afterOneTerm()
  leaks.followerHolds(a, { Timeout: 3 })
  leaks.gone(a)
  expect(leaks.leaks).toHaveLength(1)
})

test('A replica that has never followed before its first term is measured by those that have', () => {
  const leaks = new LeakWatch()
  leaks.followerHolds(b, { Timeout: 2 })
  leaks.termBegan(a)
  leaks.termOver(a, 10n)
  leaks.followerHolds(a, { Timeout: 3 })
  expect(leaks.leaks.map(({ excess }) => excess)).toEqual([['Timeout: 3, was 2']])
})

test('A term after which nothing was measured is neither a leak nor cleared', () => {
  const leaks = afterOneTerm()
  expect([leaks.leaks, leaks.cleared]).toEqual([[], 0])
})
