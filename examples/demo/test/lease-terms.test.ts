import { expect, test } from 'vitest'
import { observedTerms, termInForce } from '../observer/lease-terms.ts'
import { held, released } from './lease-versions.ts'

test('A term lasts from the write that acquired the lease to the first version that is not its own', () => {
  const versions = [held(10, 'a', 't1'), held(14, 'a', 't1'), released(20), held(23, 'b', 't2')]
  expect(observedTerms(versions)).toEqual([
    { epoch: 10n, holder: 'a', endVersion: 20n, end: 'released' },
    { epoch: 23n, holder: 'b', endVersion: undefined, end: 'lasts' },
  ])
})

test('A lease that was not released but changed hands was taken', () => {
  const [first] = observedTerms([held(10, 'a', 't1'), held(30, 'b', 't2')])
  expect(first).toEqual({ epoch: 10n, holder: 'a', endVersion: 30n, end: 'taken' })
})

test('The same holder with a new acquire time is a new term', () => {
  expect(observedTerms([held(10, 'a', 't1'), held(30, 'a', 't2')]).map(({ epoch }) => epoch)).toEqual([10n, 30n])
})

test('No term is in force before the first acquisition and after a release', () => {
  const terms = observedTerms([held(10, 'a', 't1'), released(20)])
  expect([9n, 10n, 19n, 20n].map((version) => termInForce(terms, version)?.epoch)).toEqual([
    undefined,
    10n,
    10n,
    undefined,
  ])
})
