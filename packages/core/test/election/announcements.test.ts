import { describe, expect, test } from 'vitest'
import { withStandbys } from '../../src/election/rules/standby.ts'
import { Crowd, type CrowdOptions, type CrowdResult, unlisted } from './crowd.ts'
import { mulberry32 } from './fleet.ts'

const STARTS = 150

/** Lets a crowd start again and again, with other random numbers each time, and writes of 3 to 5 ms. */
function starts(count: number, options: Pick<CrowdOptions, 'followers' | 'revision' | 'found'>): CrowdResult[] {
  return Array.from({ length: count }, (_, seed) => {
    const random = mulberry32(seed + 1)
    return new Crowd({ ...options, random, latencyMs: () => 3 + 2 * random() }).run()
  })
}

/** The value that this share of the values does not exceed. */
function percentile(values: readonly number[], percent: number): number {
  return values.toSorted((a, b) => a - b)[Math.ceil((values.length * percent) / 100) - 1] ?? Number.NaN
}

const writesOf = (results: readonly CrowdResult[]) => results.map(({ writes }) => writes)
const lastOf = (results: readonly CrowdResult[]) => results.map(({ doneAt }) => Math.max(...doneAt))

describe('Followers that start together', () => {
  test('send at most six writes when they are fifty, and seldom more than the three that are needed', () => {
    const writes = writesOf(starts(STARTS, { followers: 50 }))
    expect(Math.min(...writes)).toBe(3)
    expect(Math.max(...writes)).toBeLessThanOrEqual(6)
    expect(writes.reduce((sum, count) => sum + count, 0) / STARTS).toBeLessThan(3.2)
  })

  test('send few writes as well where all fifty run a new revision, and a list of old ones is full', () => {
    const old = ['a', 'b', 'c'].map((identity) => ({ identity, revision: 'old', since: 0n }))
    const { record, ...lease } = unlisted()
    const found = { ...lease, record: withStandbys(record, old) }
    const results = starts(60, { followers: 50, revision: 'new', found })
    expect(percentile(writesOf(results), 90)).toBeLessThanOrEqual(6)
    expect(results.every(({ doneAt }) => doneAt.length === 50)).toBe(true)
  })

  test.each([
    [1, 750],
    [2, 1000],
    [3, 1200],
    [5, 1200],
    [50, 1000],
  ])('are on the list soon: %i of them mostly within %i ms', (followers, ms) => {
    const results = starts(100, { followers })
    expect(percentile(lastOf(results), 80)).toBeLessThan(ms)
    expect(results.every(({ doneAt }) => doneAt.length === followers)).toBe(true)
  })

  test('do not keep the first replica of a new revision waiting', () => {
    expect(Math.max(...lastOf(starts(200, { followers: 1, revision: 'new' })))).toBeLessThanOrEqual(75 + 5)
  })
})
