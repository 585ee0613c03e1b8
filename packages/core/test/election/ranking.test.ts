import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { rank, sortByRank } from '../../src/election/rules/ranking.ts'
import type { Standby } from '../../src/election/rules/standby-note.ts'
import type { Strategy } from '../../src/election/rules/strategy.ts'

const OLDEST: Strategy = {
  name: 'OldestEmulationVersion',
  version: 1,
  compare: undefined,
  binaryVersion: '1.0.0',
  emulationVersion: '1.0.0',
}
const NEWEST: Strategy = { ...OLDEST, name: 'NewestVersion' }
const own = (compare: Strategy['compare'], version = 1): Strategy => ({
  name: 'example.com/mine',
  version,
  compare,
  binaryVersion: undefined,
  emulationVersion: undefined,
})
const byRoom = own((a, b) => Number(b.attributes['room']) - Number(a.attributes['room']))

const candidate = (identity: string, facts: Partial<Standby> = {}): Standby => ({
  identity,
  revision: undefined,
  since: 1n,
  ...facts,
})
const of = (strategy: Strategy, identity: string, facts: Partial<Standby> = {}): Standby =>
  candidate(identity, { strategy: strategy.name, ...facts })
const versions = (strategy: Strategy, identity: string, binaryVersion: string, emulationVersion = binaryVersion) =>
  of(strategy, identity, { binaryVersion, emulationVersion })

const order = (strategy: Strategy, candidates: readonly Standby[]) =>
  sortByRank(candidates, rank(candidates, strategy)).map(({ identity }) => identity)

describe('OldestEmulationVersion', () => {
  test('prefers the lower emulation version, then the lower binary version', () => {
    const a = versions(OLDEST, 'a', '1.37.0', '1.36.0')
    const b = versions(OLDEST, 'b', '1.36.0', '1.36.0')
    const c = versions(OLDEST, 'c', '1.38.0', '1.35.0')
    expect(order(OLDEST, [a, b, c])).toEqual(['c', 'b', 'a'])
  })

  test('puts equal replicas in the order of their start, then of their names', () => {
    const same = { binaryVersion: '1.36.0', emulationVersion: '1.36.0' }
    const equal = [
      of(OLDEST, 'a', { ...same, since: 30n }),
      of(OLDEST, 'c', { ...same, since: 4n }),
      of(OLDEST, 'b', { ...same, since: 4n }),
    ]
    expect(order(OLDEST, equal)).toEqual(['b', 'c', 'a'])
  })

  test('leaves equal versions to the revision, of which the newest comes first', () => {
    const same = { binaryVersion: '1.36.0', emulationVersion: '1.36.0' }
    const old = of(OLDEST, 'a', { ...same, revision: '1', since: 4n })
    const young = of(OLDEST, 'b', { ...same, revision: '2', since: 30n })
    expect(order(OLDEST, [old, young])).toEqual(['b', 'a'])
    expect(order(OLDEST, [old, { ...young, emulationVersion: '1.36.1' }])).toEqual(['a', 'b'])
  })
})

test.each([OLDEST, NEWEST])('A version that somebody has edited away decides nothing: $name', (strategy) => {
  const edited = (identity: string) => of(strategy, identity, { binaryVersion: '1.36.0' })
  const whole = (identity: string) => versions(strategy, identity, '1.36.0', '1.35.0')
  for (const pair of [
    [whole('b'), edited('a')],
    [edited('b'), whole('a')],
    [edited('b'), edited('a')],
  ]) {
    expect(rank(pair, strategy).kind).toBe('strategy')
    expect(order(strategy, pair)).toEqual(['a', 'b'])
  }
})

test('NewestVersion prefers the higher binary version, then the higher emulation version', () => {
  const a = versions(NEWEST, 'a', '1.37.0', '1.36.0')
  const b = versions(NEWEST, 'b', '1.37.0', '1.37.0')
  const c = versions(NEWEST, 'c', '1.37.0-rc.1')
  expect(order(NEWEST, [a, c, b])).toEqual(['b', 'a', 'c'])
})

describe('A replica that is not warm', () => {
  const cold = of(byRoom, 'a', { attributes: { room: 9 }, warm: false })
  const warm = of(byRoom, 'b', { attributes: { room: 1 } })

  test('comes after all that are, however good it is', () => {
    expect(order(byRoom, [cold, warm])).toEqual(['b', 'a'])
    const ranking = rank([cold, warm], byRoom)
    expect(ranking.kind === 'strategy' && ranking.isBetter(cold, warm)).toBe(false)
  })

  test('is ranked by the strategy among its like', () => {
    expect(order(byRoom, [of(byRoom, 'c', { attributes: { room: 2 }, warm: false }), cold])).toEqual(['a', 'c'])
  })
})

describe('A comparison of your own', () => {
  test('sees what candidates say of themselves, and cannot change it', () => {
    const seen: unknown[] = []
    const curious = own((a) => {
      seen.push(a)
      expect(() => Object.assign(a.attributes, { room: 0 })).toThrow(TypeError)
      return 0
    })
    rank([of(curious, 'a', { attributes: { room: 3 }, zone: 'z', revision: 'r' }), of(curious, 'b')], curious)
    expect(seen[0]).toEqual({
      identity: 'a',
      binaryVersion: undefined,
      emulationVersion: undefined,
      attributes: { room: 3 },
      revision: 'r',
      zone: 'z',
      isWarm: true,
    })
  })

  test.each<[string, Strategy['compare'], string]>([
    ['throws', () => expect.fail(), 'it threw'],
    ['returns NaN', () => Number.NaN, 'it returned no number'],
    ['returns a truth value', (() => true) as unknown as Strategy['compare'], 'it returned no number'],
    ['always prefers the first', () => -1, 'its answers for a and b depend on their order'],
    [
      'goes in a circle',
      (a, b) => ({ ab: -1, ba: 1, bc: -1, cb: 1, ca: -1, ac: 1 })[`${a.identity}${b.identity}`] ?? 0,
      'it prefers a, b, c in a circle',
    ],
  ])('that %s decides nothing, and the revision does', (_, compare, problem) => {
    const strategy = own(compare)
    const candidates = ['a', 'b', 'c'].map((identity) => of(strategy, identity))
    expect(rank(candidates, strategy)).toEqual({ kind: 'contradiction', problem })
    expect(order(strategy, candidates.toReversed())).toEqual(['a', 'b', 'c'])
  })

  test('may call replicas equal that differ little', () => {
    const tolerant = own((a, b) => {
      const difference = Number(b.attributes['room']) - Number(a.attributes['room'])
      return Math.abs(difference) > 2 ? difference : 0
    })
    const rooms = [1, 3, 5].map((room) => of(tolerant, `room-${room}`, { attributes: { room } }))
    expect(rank(rooms, tolerant).kind).toBe('strategy')
    expect(order(tolerant, rooms)).toEqual(['room-3', 'room-5', 'room-1'])
  })

  test('gives one order, whatever the order in which the replicas are seen', () => {
    const fact = fc.record({ room: fc.integer({ min: 0, max: 3 }), warm: fc.boolean(), since: fc.bigInt(0n, 3n) })
    fc.assert(
      fc.property(fc.array(fact, { maxLength: 5 }), (facts) => {
        const candidates = facts.map(({ room, warm, since }, index) =>
          of(byRoom, `replica-${index}`, { attributes: { room }, warm, since }),
        )
        expect(order(byRoom, candidates.toReversed())).toEqual(order(byRoom, candidates))
      }),
    )
  })
})

describe('Replicas that do not agree on a strategy', () => {
  test('leave the decision to the revision', () => {
    const other = candidate('b', { strategy: 'example.com/other' })
    expect(rank([of(byRoom, 'a'), other], byRoom)).toEqual({ kind: 'mismatch', other })
    expect(rank([of(byRoom, 'a'), candidate('c')], byRoom)).toMatchObject({ kind: 'mismatch' })
  })

  test('leave the decision to the replicas that know the oldest of its versions', () => {
    const newer = own(byRoom.compare, 2)
    const old = of(byRoom, 'a')
    const young = of(newer, 'b', { strategyVersion: 2 })
    expect(rank([old, young], newer)).toEqual({ kind: 'older-version', older: old })
    expect(rank([old, young], byRoom).kind).toBe('contradiction')
    expect(rank([young], newer).kind).not.toBe('older-version')
    expect(order(newer, [young, old])).toEqual(['b', 'a'])
  })

  test('that follow none follow the revision', () => {
    expect(rank([], undefined)).toEqual({ kind: 'revision' })
  })
})
