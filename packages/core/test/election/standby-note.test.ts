import { describe, expect, test } from 'vitest'
import { isWarm } from '../../src/election/rules/ranking.ts'
import {
  isKeptByHolder,
  type Note,
  readLeader,
  readNote,
  readStandbys,
  type Standby,
  transitionsOf,
  withList,
} from '../../src/election/rules/standby-note.ts'
import type { LeaseRecord } from '../../src/lock/lease-record.ts'
import { lease } from './pure-elector.ts'

const HELD: LeaseRecord = lease({ version: 1n }).record
const HOLDER = HELD.holderIdentity
const KEY = 'tenure.dev/standby'

const saying = (text: string): LeaseRecord => ({ ...HELD, annotations: { [KEY]: text } })
const stating = (note: Readonly<Record<string, unknown>>) => saying(JSON.stringify({ of: 3, ...note }))
const textOf = ({ annotations }: LeaseRecord) => annotations[KEY] ?? ''
const standby = (identity: string, facts: Partial<Standby> = {}): Standby => ({
  identity,
  revision: undefined,
  since: 1n,
  ...facts,
})
const listed = (entry: unknown): Standby | undefined => readStandbys(stating({ standbys: [entry] }))[0]

describe('What an entry of the list says', () => {
  const facts = {
    strategy: 'example.com/mine',
    strategyVersion: 2,
    binaryVersion: '1.36.0',
    emulationVersion: '1.35.0',
    attributes: { room: 1 },
  }
  const full: Standby = { ...facts, identity: 'a', revision: 'r', zone: 'z', since: 7n, warm: false, term: 4 }

  test('is read as it was written', () => {
    expect(readStandbys(withList(HELD, [full], {}))).toEqual([full])
  })

  test.each([
    ['strategyVersion', '2'],
    ['strategyVersion', 2.5],
    ['binaryVersion', '1.36'],
    ['binaryVersion', 7],
    ['emulationVersion', 'v1.35.0'],
    ['attributes', { room: null }],
    ['attributes', 'room'],
    ['warm', 'no'],
    ['term', '4'],
    ['term', 4.5],
  ])('does not count where its %s is %j, and the rest does', (field, value) => {
    const { [field]: _, ...rest } = full as Standby & Record<string, unknown>
    const read = listed({ ...full, since: '7', [field]: value })
    expect(read).toEqual(rest)
    expect(Object.keys(read ?? {})).not.toContain(field)
  })

  test.each([undefined, 7, null])('has no facts without a strategy, here %j, but for its warmth', (strategy) => {
    expect(listed({ ...facts, strategy, identity: 'a', since: '7' })).toEqual(standby('a', { since: 7n }))
    expect(listed({ ...facts, strategy, identity: 'a', since: '7', warm: false })).toMatchObject({ warm: false })
    expect(listed({ identity: 'a', since: '7', warm: 'no' })).not.toHaveProperty('warm')
    expect(listed({ identity: 'a', since: '7', warm: true })).not.toHaveProperty('warm')
  })

  test('is warm unless it says that it is not', () => {
    expect(isWarm(standby('a'))).toBe(true)
    expect(isWarm(standby('a', { warm: true }))).toBe(true)
    expect(isWarm(standby('a', { warm: false }))).toBe(false)
  })

  test.each([
    null,
    7,
    'a',
    [],
    {},
    { identity: '', since: '1' },
    { identity: 7, since: '1' },
    { identity: 'b' },
    { identity: 'b', since: 1 },
    { identity: 'b', since: '' },
    { identity: 'b', since: '-1' },
    { identity: 'b', since: '1x' },
    { identity: 'b', since: 'x1' },
    { identity: 'b', since: '1'.repeat(20) },
    { identity: 'b', since: '1', revision: 7 },
    { identity: 'b', since: '1', zone: null },
  ])('is skipped where it is %j, and the others count', (wrong) => {
    const right = { identity: 'a', since: '9'.repeat(19) }
    expect(readStandbys(stating({ standbys: [wrong, right] }))).toEqual([standby('a', { since: BigInt(right.since) })])
  })
})

describe('What the leader says of itself on the list', () => {
  const leader = { revision: 'r', strategy: 'NewestVersion', binaryVersion: '1.36.0' }
  const of = (note: Readonly<Record<string, unknown>>) =>
    readLeader(stating({ holder: HOLDER, zone: 'z', leader, ...note }))

  test('is read with its zone', () => {
    expect(of({})).toEqual({ ...leader, identity: HOLDER, zone: 'z', since: 0n })
  })

  test.each([undefined, null, 7, 'leader'])('is nothing where it is %j', (value) => {
    expect(of({ leader: value })).toBeUndefined()
  })

  test('counts only for the holder that wrote it', () => {
    expect(of({ holder: 'third' })).toBeUndefined()
    expect(of({ holder: undefined })).toBeUndefined()
    const free = { ...stating({ holder: '', leader }), holderIdentity: '' }
    expect(readLeader(free)).toBeUndefined()
  })

  test('is no revision and no zone where these are no texts', () => {
    expect(of({ leader: { ...leader, revision: 7 }, zone: 7 })).toEqual({
      ...leader,
      identity: HOLDER,
      revision: undefined,
      zone: undefined,
      since: 0n,
    })
  })
})

describe('The annotation with the list', () => {
  test('of 4096 characters is read, and no longer one', () => {
    const padded = (length: number) => {
      const text = '{"of":3,"holder":"other"}'
      return saying(text + ' '.repeat(length - text.length))
    }
    expect(isKeptByHolder(padded(4096))).toBe(true)
    expect(isKeptByHolder(padded(4097))).toBe(false)
  })

  test('counts for the number of transitions that it names, also where nobody has counted any', () => {
    const uncounted: LeaseRecord = { ...HELD, leaseTransitions: undefined }
    expect(transitionsOf(HELD)).toBe(3)
    expect(transitionsOf(uncounted)).toBe(0)
    expect(readStandbys(withList(uncounted, [standby('a')], {}))).toHaveLength(1)
    expect(readStandbys({ ...stating({ standbys: [{ identity: 'a', since: '1' }] }), leaseTransitions: 4 })).toEqual([])
  })

  test('says who keeps the list, also where the list itself is malformed', () => {
    for (const standbys of [undefined, 7, 'a', {}, null]) {
      const record = stating({ holder: HOLDER, standbys })
      expect(readStandbys(record)).toEqual([])
      expect(isKeptByHolder(record)).toBe(true)
    }
  })

  test('is read again when it changes, and when it is what it was before', () => {
    const [first, second] = [withList(HELD, [standby('a')], {}), withList(HELD, [standby('b')], {})]
    for (const [record, name] of [
      [first, 'a'],
      [second, 'b'],
      [first, 'a'],
    ] as const) {
      expect(readStandbys(record).map(({ identity }) => identity)).toEqual([name])
    }
  })
})

describe('A list that does not fit', () => {
  const big = { room: 'x'.repeat(500) }
  const long = (identity: string, facts: Partial<Standby> = {}) =>
    standby(identity, { revision: 'r'.repeat(1000), strategy: 'NewestVersion', ...facts })
  const note: Note = {
    holder: HOLDER,
    zone: 'z',
    writeMs: 30,
    leader: { strategy: 'NewestVersion', binaryVersion: '1.36.0', attributes: big },
  }
  const names = (record: LeaseRecord) => readStandbys(record).map(({ identity }) => identity)

  test('loses the attributes before it loses a standby, and keeps all else', () => {
    const record = withList(HELD, [long('a'), long('b', { attributes: big }), long('c')], note)
    expect(names(record)).toEqual(['a', 'b', 'c'])
    expect(readStandbys(record).map(({ attributes }) => attributes)).toEqual([undefined, undefined, undefined])
    expect(readNote(record)).toMatchObject({ holder: HOLDER, zone: 'z', writeMs: 30 })
    const { leader } = readNote(record)
    expect(leader).toEqual({ strategy: 'NewestVersion', binaryVersion: '1.36.0' })
  })

  test('loses the attributes of the leader where only that has some', () => {
    const record = withList(HELD, [long('a'), long('b'), long('c')], {
      ...note,
      zone: 'z'.repeat(500),
      leader: { strategy: 'NewestVersion', attributes: big },
    })
    expect(names(record)).toEqual(['a', 'b', 'c'])
    expect(readNote(record).leader).toEqual({ strategy: 'NewestVersion' })
  })

  test('loses the attributes of standbys where the leader has none', () => {
    const list = [long('a', { attributes: big }), long('b'), long('c', { attributes: big })]
    const record = withList(HELD, list, { ...note, leader: undefined })
    expect(names(record)).toEqual(['a', 'b', 'c'])
    expect(readStandbys(record).map(({ attributes }) => attributes)).toEqual([undefined, undefined, undefined])
  })

  test('keeps the attributes where it fits', () => {
    const record = withList(HELD, [standby('a', { strategy: 'NewestVersion', attributes: big })], note)
    expect(readStandbys(record)[0]?.attributes).toEqual(big)
    expect(readNote(record).leader).toMatchObject({ attributes: big })
  })

  test.each([undefined, null, 7, { strategy: 'NewestVersion' }, { attributes: undefined }])(
    'loses the last standbys where no attributes are left, with a leader that says %j',
    (leader) => {
      const wide = ['a', 'b', 'c'].map((identity) => long(identity, { revision: 'r'.repeat(1500) }))
      const record = withList(HELD, wide, { ...note, leader })
      expect(names(record)).toEqual(['a', 'b'])
      expect(isKeptByHolder(record)).toBe(true)
    },
  )

  test('is written as it is where nothing is left to leave out, and not read', () => {
    const record = withList(HELD, [standby('a')], { ...note, zone: 'z'.repeat(5000), leader: undefined })
    expect(textOf(record).length).toBeGreaterThan(4096)
    expect(readNote(record)).toEqual({})
  })

  test('has 4096 characters at most', () => {
    const one = (length: number) => standby('a', { revision: 'r'.repeat(length) })
    const spare = 4096 - textOf(withList(HELD, [one(0)], {})).length
    expect(names(withList(HELD, [one(spare)], {}))).toEqual(['a'])
    expect(names(withList(HELD, [one(spare + 1)], {}))).toEqual([])
  })
})
