import { describe, expect, test } from 'vitest'
import { byAge, byRevision, newestRevision } from '../../src/election/rules/revision-order.ts'
import type { Standby } from '../../src/election/rules/standby-note.ts'

const standby = (identity: string, revision: string | undefined, since: bigint, zone?: string): Standby => ({
  identity,
  revision,
  since,
  zone,
})

const inOrder = (standbys: readonly Standby[], zone?: string) =>
  standbys.toSorted(byRevision(standbys, zone)).map(({ identity }) => identity)

describe('The newest revision', () => {
  test('is that of the replica that started last, wherever on the list that is', () => {
    const last = standby('last', '2', 9n)
    const rest = [standby('early', '2', 3n), standby('other', '1', 5n)]
    expect(newestRevision([last, ...rest])).toBe('2')
    expect(newestRevision([...rest, last])).toBe('2')
    expect(newestRevision(rest)).toBe('1')
  })

  test('is none where nobody says what it runs, or nobody stands', () => {
    expect(newestRevision([standby('a', undefined, 9n)])).toBeUndefined()
    expect(newestRevision([])).toBeUndefined()
    expect(newestRevision([standby('a', undefined, 9n), standby('b', '1', 0n)])).toBe('1')
  })
})

describe('The order by the revision', () => {
  test('puts the newest revision first, and those last that do not say what they run', () => {
    const standbys = [standby('a', undefined, 9n), standby('b', '1', 4n), standby('c', '2', 5n)]
    expect(inOrder(standbys)).toEqual(['c', 'b', 'a'])
    expect(inOrder(standbys.toReversed())).toEqual(['c', 'b', 'a'])
  })

  test('puts the revision first whose first replica started later, if the last ones started together', () => {
    const standbys = [standby('restarted', '1', 6n), standby('old', '1', 2n), standby('new', '2', 6n)]
    expect(inOrder(standbys)).toEqual(['new', 'old', 'restarted'])
    expect(inOrder(standbys.toReversed())).toEqual(['new', 'old', 'restarted'])
  })

  test('puts one of two revisions that started together first, by its name', () => {
    const standbys = [standby('a', '2', 4n), standby('b', '1', 4n), standby('c', '', 4n)]
    expect(inOrder(standbys)).toEqual(['c', 'b', 'a'])
  })

  test('puts the zone of the leader before the names, if both know one', () => {
    const standbys = [standby('a', '1', 4n, 'far'), standby('b', '1', 4n, 'here'), standby('c', '1', 4n)]
    expect(inOrder(standbys, 'here')).toEqual(['b', 'a', 'c'])
    expect(inOrder(standbys)).toEqual(['a', 'b', 'c'])
  })
})

test('the order by age puts the replica first that started first, and of two that started together one by its name', () => {
  const [old, young, same] = [standby('c', '1', 1n), standby('a', '1', 9n), standby('b', '1', 9n)]
  expect([young, old, same].toSorted(byAge)).toEqual([old, young, same])
  expect(byAge(young, young)).toBe(0)
  expect(byAge(old, young)).toBeLessThan(0)
  expect(byAge(same, young)).toBeGreaterThan(0)
})
