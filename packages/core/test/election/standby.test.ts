import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ElectorConfig } from '../../src/election/machine/config.ts'
import { isJoining } from '../../src/election/phases/announcing.ts'
import { holdBackMs } from '../../src/election/rules/hold-back.ts'
import { releaseRecord, renewRecord, transferRecord } from '../../src/election/rules/records.ts'
import { type Standby, isKeptByHolder, readNote, readStandbys } from '../../src/election/rules/standby-note.ts'
import {
  asStandby,
  hasRoomFor,
  leaderNoteOf,
  newerStandby,
  rankOf,
  rankingOf,
  remainingStandbys,
  standbysBehind,
  urgency,
  waitForStandbysMs,
  withListKept,
  withStandby,
  withStandbys,
  withoutStandby,
} from '../../src/election/rules/standby.ts'
import { readOffer, withOffer, withTransferNonce } from '../../src/election/rules/transfer-notes.ts'
import { type LeaseRecord, withLeastEpoch } from '../../src/lock/lease-record.ts'
import { CONFIG, failed, lease, ME, purposes, PureElector } from './pure-elector.ts'

const HELD: LeaseRecord = lease({ version: 1n }).record
const QUICKLY = { wallTime: 0, writeMs: 3 }

/** Standbys that say nothing of what they run. */
const plain = (...identities: readonly string[]): readonly Standby[] =>
  identities.map((identity) => ({ identity, revision: undefined, since: 1n }))

const of = (revision: string, since: bigint, identity: string): Standby => ({ identity, revision, since })

const inZone = (zone: string | undefined, identity: string, revision = '1', since = 1n): Standby => ({
  identity,
  revision,
  zone,
  since,
})

const named = (record: LeaseRecord) => readStandbys(record).map(({ identity }) => identity)

const wait = (free: LeaseRecord, identity: string, revision?: string) =>
  waitForStandbysMs(free, identity, { holdBackMs: 80, retryPeriodMs: 2000, revision })

function waitsAfter(writeMs: number): number[] {
  const released = releaseRecord(withStandbys(HELD, plain('a', 'b')), { wallTime: 0, returning: undefined, writeMs })
  return ['a', 'b', 'c'].map((identity) => wait(released, identity))
}

describe('The standbys of a lease', () => {
  test('are read only together with the number of transitions that they were written with', () => {
    const record = withStandbys(HELD, plain('a', 'b'))
    expect(named(record)).toEqual(['a', 'b'])
    expect(named({ ...record, leaseTransitions: 4 })).toEqual([])
    expect(named({ ...record, acquireTime: 'that of a release by another client', holderIdentity: '' })).toEqual([
      'a',
      'b',
    ])
  })

  test.each([
    '',
    'null',
    '[]',
    '"x"',
    '{"of":3}',
    '{"of":3,"standbys":7}',
    '{"of":3,"standbys":[null,7,"a",{}]}',
    '{"of":3,"standbys":[{"identity":"","since":"1"},{"identity":"a","since":-1},{"identity":"a","since":"x"}]}',
    '{"of":3,"standbys":[{"identity":"a","since":"1","revision":7}]}',
    '{"of":3,"standbys":[{"identity":"a","since":"1","zone":7}]}',
    `{"of":3,"standbys":[{"identity":"a","since":"1","revision":"${'r'.repeat(10_000)}"}]}`,
    `{"of":3,"standbys":[{"identity":"${'a'.repeat(10_000)}","since":"1"}]}`,
    '{',
  ])('are none where the annotation says %.80s', (text) => {
    expect(readStandbys({ ...HELD, annotations: { 'tenure.dev/standby': text } })).toEqual([])
  })

  test('never include the holder', () => {
    expect(named(withStandbys(HELD, plain('a', HELD.holderIdentity, 'b')))).toEqual(['a', 'b'])
  })

  test('are fewer where they would not fit into the annotation, so that the list stays readable', () => {
    const long = ['a', 'b', 'c'].map((name) => of('r'.repeat(253), 1n, name.repeat(1500)))
    const record = withStandbys(HELD, long)
    expect(named(record).map((name) => name[0])).toEqual(['a', 'b'])
    expect(isKeptByHolder(record)).toBe(true)
    const escaped = ['a', 'b', 'c'].map((name) => of('\u0000'.repeat(253), 1n, name))
    expect(named(withStandbys(HELD, escaped))).toEqual(['a', 'b'])
  })

  test('stay a readable list and change nothing else, whatever was written before and whatever they say of themselves', () => {
    const text = fc.oneof(fc.string(), fc.constantFrom('a', 'b', '1', '\u0000'.repeat(253), 'x'.repeat(2000), '"\\'))
    const identity = text.filter((name) => name !== '' && name !== HELD.holderIdentity)
    const revision = fc.option(
      text.filter((name) => name !== ''),
      { nil: undefined },
    )
    const standby = fc.record({
      identity,
      revision,
      zone: revision,
      since: fc.bigInt({ min: 0n, max: 10n ** 19n - 1n }),
    })
    const wildStandby = fc.record(
      {
        identity: fc.oneof(text, fc.integer()),
        revision: fc.oneof(text, fc.integer()),
        zone: fc.oneof(text, fc.integer()),
        since: fc.oneof(fc.constantFrom('1', '-1', '9'.repeat(19), '9'.repeat(20)), fc.integer(), text),
      },
      { requiredKeys: [] },
    )
    const wildNote = fc
      .record({
        of: fc.constantFrom(3, '3', null),
        standbys: fc.oneof(fc.jsonValue(), fc.array(fc.oneof(wildStandby, fc.jsonValue()))),
        holder: fc.oneof(fc.constant(HELD.holderIdentity), fc.jsonValue()),
        zone: fc.oneof(text, fc.jsonValue()),
        writeMs: fc.oneof(fc.double(), fc.jsonValue()),
      })
      .map((note) => JSON.stringify(note))
    const before = fc.oneof(wildNote, fc.json(), fc.string(), fc.constant(JSON.stringify({ of: 3, standbys: [] })))
    fc.assert(
      fc.property(before, fc.array(standby, { maxLength: 5 }), standby, (note, others, me) => {
        const record: LeaseRecord = { ...HELD, annotations: { 'tenure.dev/standby': note, other: 'kept' } }
        for (const free of [record, { ...record, holderIdentity: '' }]) {
          expect(wait(free, me.identity, me.revision)).toBeLessThanOrEqual(2000 + 80)
          expect(wait(free, me.identity, me.revision)).toBeGreaterThanOrEqual(0)
        }
        const kept = withStandbys(record, others)
        expect(isKeptByHolder(kept)).toBe(true)
        const listed = hasRoomFor(kept, me) ? withStandby(kept, me) : kept
        const left = withoutStandby(listed, me.identity)
        expect(named(left)).not.toContain(me.identity)
        for (const { annotations, ...fields } of [kept, listed, left, withStandby(record, me)]) {
          expect({ ...fields, annotations: {} }).toEqual(HELD)
          expect(annotations).toMatchObject({ other: 'kept' })
          expect(named({ ...fields, annotations }).length).toBeLessThanOrEqual(3)
        }
        expect(isKeptByHolder(listed) && isKeptByHolder(left)).toBe(true)
      }),
      { numRuns: 500, seed: 20_260_105 },
    )
  })

  test('get a leader that follows again at their end, and not a leader that stops', () => {
    const held = withStandbys(HELD, plain('a'))
    const [returning] = plain('b')
    expect(named(releaseRecord(held, { ...QUICKLY, returning }))).toEqual(['a', 'b'])
    expect(named(releaseRecord(held, { ...QUICKLY, returning: undefined }))).toEqual(['a'])
  })

  test('try one after the other, and all others after them and spread', () => {
    const released = withStandbys({ ...HELD, holderIdentity: '' }, plain('a', 'b'))
    expect(wait(released, 'a')).toBe(0)
    expect(wait(released, 'b')).toBe(8)
    expect(wait(released, 'c')).toBe(96)
  })

  test('of other revisions than the first wait for longer, so that a busy new replica is not overtaken', () => {
    const released = withStandbys({ ...HELD, holderIdentity: '' }, [
      of('new', 9n, 'a'),
      of('new', 8n, 'b'),
      of('old', 1n, 'c'),
    ])
    expect(['a', 'b', 'c'].map((identity) => wait(released, identity))).toEqual([0, 8, 48])
    expect(wait(released, 'd', 'new')).toBe(104)
    expect(wait(released, 'd', 'old')).toBe(136)
  })

  test('do not wait for longer where the writes of the leader took longer than usual, and all others do', () => {
    expect(waitsAfter(7)).toEqual([0, 8, 96])
    expect(waitsAfter(30)).toEqual([0, 8, 384])
  })

  test('and no replica waits for longer than a client that polls would, whatever the leader says of its writes', () => {
    const released = withStandbys({ ...HELD, holderIdentity: '' }, [...plain('a', 'b'), of('new', 2n, 'c')], {
      writeMs: 1e9,
    })
    const last = { holdBackMs: 75, retryPeriodMs: 2000, revision: 'new' }
    expect(waitForStandbysMs(released, 'd', last)).toBe(2000)
    expect(waitForStandbysMs(released, 'd', { ...last, retryPeriodMs: 300 })).toBe(300)
    expect(waitForStandbysMs(released, 'd', { ...last, retryPeriodMs: 100 })).toBe(131)
  })

  test('of the newest revision come first: that of the replica that started last, by the versions of the lease', () => {
    const add = (record: LeaseRecord, standby: Standby) => withStandby(record, standby)
    const rolledOut = [of('1', 5n, 'x'), of('2', 9n, 'z'), of('2', 8n, 'y')].reduce(add, HELD)
    expect(named(rolledOut)).toEqual(['y', 'z', 'x'])
    const rolledBack = add(withStandbys(HELD, [of('2', 9n, 'y'), of('1', 5n, 'x')]), of('1', 12n, 'w'))
    expect(named(rolledBack)).toEqual(['w', 'x', 'y'])
    expect(named(add(rolledOut, of('3', 10n, 'new')))).toEqual(['new', 'y', 'z'])
  })

  test('have room for a replica of the newest revision even if the list is full, and for no other', () => {
    const full = withStandbys(HELD, [of('1', 5n, 'a'), of('1', 6n, 'b'), of('1', 7n, 'c')])
    expect(hasRoomFor(full, of('2', 8n, 'd'))).toBe(true)
    expect(hasRoomFor(full, of('1', 8n, 'd'))).toBe(false)
    expect(hasRoomFor(full, of('0', 3n, 'd'))).toBe(false)
    expect(hasRoomFor(full, { identity: 'd', revision: undefined, since: 9n })).toBe(false)
    const mixed = withStandbys(HELD, [of('2', 9n, 'a'), of('1', 6n, 'b'), of('1', 7n, 'c')])
    expect(hasRoomFor(mixed, of('1', 8n, 'd'))).toBe(false)
    expect(hasRoomFor(mixed, of('2', 10n, 'd'))).toBe(true)
    expect(
      hasRoomFor(withStandbys(HELD, [of('2', 9n, 'a'), of('2', 8n, 'b'), of('2', 7n, 'c')]), of('2', 10n, 'd')),
    ).toBe(false)
    expect(hasRoomFor(withStandbys(HELD, [of('1', 5n, 'a')]), of('1', 5n, 'a'))).toBe(false)
  })
})

describe('A standby that follows a strategy', () => {
  const versions = { binaryVersion: '1.0.0', emulationVersion: '1.0.0' }
  const strategy = { name: 'NewestVersion', version: 1, compare: undefined, ...versions }
  const me: Standby = { ...of('1', 1n, 'me'), strategy: 'NewestVersion', ...versions }
  const as = (identity: string, version: string, facts: Partial<Standby> = {}): Standby => ({
    ...me,
    identity,
    binaryVersion: version,
    emulationVersion: version,
    ...facts,
  })
  const led = (leader: Standby, ...standbys: readonly Standby[]) =>
    withStandbys({ ...HELD, holderIdentity: leader.identity }, standbys, { leader: leaderNoteOf(leader) })

  test.each<[string, Partial<Standby>]>([
    ['strategy', { strategy: 'example.com/mine' }],
    ['version of the strategy', { strategyVersion: 3 }],
    ['binary version', { binaryVersion: '1.1.0' }],
    ['emulation version', { emulationVersion: '0.9.0' }],
    ['attributes', { attributes: { room: 2 } }],
  ])('is written again if its %s is another one now, and not otherwise', (_, change) => {
    const full: Standby = { ...me, strategyVersion: 2, attributes: { room: 1 } }
    const listed = withStandbys(HELD, [full])
    expect(hasRoomFor(listed, full, strategy)).toBe(false)
    expect(hasRoomFor(listed, { ...full, ...change }, strategy)).toBe(true)
  })

  test('is not written again for attributes that did not fit', () => {
    expect(hasRoomFor(withStandbys(HELD, [me]), { ...me, attributes: { room: 1 } }, strategy)).toBe(false)
  })

  test('says which version of the strategy it knows, unless that is the first', () => {
    const memory = new PureElector().state.memory
    const facts = (version: number) => asStandby(memory, { ...CONFIG, strategy: { ...strategy, version } })
    expect(facts(1)).not.toHaveProperty('strategyVersion')
    expect(facts(2)).toMatchObject({ strategy: 'NewestVersion', strategyVersion: 2 })
  })

  test('knows its place among the leader and the standbys, of which each counts once', () => {
    const record = led(as('leader', '1.2.0', { warm: false }), as('a', '1.3.0'), as('b', '1.1.0'))
    const place = (standby: Standby) => rankOf(record, standby, strategy)
    expect([place(as('a', '1.3.0')), place(as('b', '1.1.0')), place(as('new', '1.0.0'))]).toEqual([1, 3, 4])
    expect(place(as('leader', '1.2.0', { warm: false }))).toBe(2)
    expect(rankOf(record, as('new', '1.0.0'), { ...strategy, version: 2 })).toBeUndefined()
  })

  test('takes the place of an equal one on a full list only with the newest revision', () => {
    const full = led(as('leader', '1.0.0'), as('a', '1.0.0'), as('b', '1.0.0'), as('c', '1.1.0'))
    expect(hasRoomFor(full, as('d', '1.0.0'), strategy)).toBe(false)
    expect(hasRoomFor(full, as('d', '1.0.0', { revision: '2', since: 9n }), strategy)).toBe(true)
    expect(hasRoomFor(full, as('d', '0.9.0', { revision: '2', since: 9n }), strategy)).toBe(false)
    expect(hasRoomFor(full, as('d', '1.0.0', { revision: '0', since: 0n }), strategy)).toBe(false)
  })

  test('is no newer standby, for a leader that is eager, where the strategy prefers the leader', () => {
    const newer = { revision: '2', since: 9n }
    expect(newerStandby(led(me, as('a', '1.0.0', newer)), me, strategy)?.identity).toBe('a')
    expect(newerStandby(led(me, as('a', '0.9.0', newer)), me, strategy)).toBeUndefined()
  })

  test('leaves the list alone while a replica of it knows only an older version of the strategy', () => {
    const full = led(as('leader', '1.0.0'), as('a', '1.0.0'), as('b', '1.0.0'), as('c', '1.0.0'))
    const newer = { revision: '2', since: 9n, strategyVersion: 2 }
    expect(hasRoomFor(full, as('d', '9.0.0', newer), { ...strategy, version: 2 })).toBe(false)
    expect(urgency(full, as('d', '9.0.0', newer), { ...strategy, version: 2 })).toBeUndefined()
    expect(hasRoomFor(full, as('d', '9.0.0', newer), strategy)).toBe(true)
    expect(urgency(full, as('d', '9.0.0', newer), strategy)).toBe('best')
  })

  test('takes the place of an equal one of an older revision only if its own revision is the newest', () => {
    const mixed = led(
      as('leader', '1.0.0'),
      as('a', '1.0.0', { revision: '2', since: 9n }),
      as('b', '1.0.0'),
      as('c', '1.0.0'),
    )
    expect(hasRoomFor(mixed, as('d', '1.0.0'), strategy)).toBe(false)
    expect(hasRoomFor(mixed, as('d', '1.0.0', { revision: '2', since: 9n }), strategy)).toBe(true)
    expect(hasRoomFor(mixed, as('d', '1.0.0', { revision: '0', since: 5n }), strategy)).toBe(false)
  })

  test('is ranked by what it says now, and not by what the list says of it', () => {
    const record = led(as('leader', '1.2.0'), as('a', '1.3.0'), as('b', '1.1.0'))
    expect(rankOf(record, as('a', '1.0.0'), strategy)).toBe(3)
    expect(rankOf(record, as('b', '1.1.0', { warm: false }), strategy)).toBe(3)
    expect(rankOf(record, as('a', '1.3.0', { warm: false }), strategy)).toBe(3)
  })

  test('is ranked by the strategy also where nobody leads', () => {
    const free = { ...led(me, as('a', '1.1.0')), holderIdentity: '' }
    expect(rankingOf(free, as('b', '1.0.0'), strategy).kind).toBe('strategy')
    const silent = withStandbys(HELD, [as('a', '1.1.0')])
    expect(rankingOf(silent, as('b', '1.0.0'), strategy).kind).toBe('mismatch')
    expect(rankingOf(free, as('b', '1.0.0'), undefined)).toEqual({ kind: 'revision' })
  })

  test('says in which term it joined, and one without a strategy does not', () => {
    const joined = (by?: typeof strategy) => readStandbys(withStandby(HELD, me, by))[0]
    expect(joined(strategy)).toHaveProperty('term', 3)
    expect(joined()).not.toHaveProperty('term')
  })

  test('is a newer one only if it runs another revision, says which, is warm and started later', () => {
    const newer = (facts: Partial<Standby>, leader: Partial<Standby> = {}) => {
      const standby: Standby = { ...of('2', 9n, 'a'), ...facts }
      return newerStandby(withStandbys(HELD, [standby]), { ...of('1', 8n, 'leader'), ...leader })?.identity
    }
    expect(newer({})).toBe('a')
    expect(newer({ since: 8n })).toBeUndefined()
    expect(newer({ since: 7n })).toBeUndefined()
    expect(newer({ warm: false })).toBeUndefined()
    expect(newer({ revision: undefined })).toBeUndefined()
    expect(newer({ revision: '1' })).toBeUndefined()
    expect(newer({}, { revision: undefined })).toBeUndefined()
    expect(newerStandby(withStandbys(HELD, []), of('1', 8n, 'leader'))).toBeUndefined()
  })

  test('is in a hurry only as the first of the newest revision where the replicas do not agree on a strategy', () => {
    const others = withStandbys(HELD, [of('2', 9n, 'a')])
    expect(urgency(others, of('3', 10n, 'b'))).toBe('newest')
    expect(urgency(others, of('2', 10n, 'b'))).toBeUndefined()
    expect(urgency(others, of('1', 1n, 'b'))).toBeUndefined()
    expect(urgency(withStandbys(HELD, []), of('3', 10n, 'b'))).toBe('newest')
    expect(urgency(withStandbys(HELD, []), { ...of('', 10n, 'b'), revision: undefined })).toBeUndefined()
  })
})

test('a leader that follows a strategy describes itself again when it says something else, and keeps its list', () => {
  const strategy = {
    name: 'NewestVersion',
    version: 1,
    compare: undefined,
    binaryVersion: '1.0.0',
    emulationVersion: '1.0.0',
  }
  const config = { ...CONFIG, strategy, zone: 'here', attributes: { room: 1 } }
  const kept = withListKept(withStandbys(HELD, plain('a'), { writeMs: 30 }), config)
  expect(readNote(kept)).toMatchObject({
    holder: 'other',
    zone: 'here',
    writeMs: 30,
    leader: { attributes: { room: 1 } },
  })
  expect(withListKept(kept, config)).toBe(kept)
  const changed = withListKept(kept, { ...config, attributes: { room: 2 } })
  expect(readNote(changed)).toMatchObject({ zone: 'here', leader: { attributes: { room: 2 } } })
  expect(named(changed)).toEqual(['a'])
  expect(leaderNoteOf(of('1', 1n, 'a'))).toBeUndefined()
})

test('the standbys behind the one that answers an offer are those after it on the list', () => {
  const held = withStandbys(HELD, plain('a', 'b', 'c'))
  const behind = (identity: string) => standbysBehind(held, identity).map((standby) => standby.identity)
  expect([behind('a'), behind('b'), behind('x')]).toEqual([['b', 'c'], ['c'], []])
})

test('a list says how long writes take only if they take more than 7.5 ms', () => {
  const stated = (writeMs: number) => readNote(withStandbys(HELD, [], { writeMs })).writeMs
  expect([stated(7.5), stated(7.6)]).toEqual([undefined, 8])
})

test('a list has no more than three standbys, as it is written and as it is read', () => {
  const written = withStandbys(HELD, plain('a', 'b', 'c', 'd')).annotations['tenure.dev/standby'] ?? ''
  const note = JSON.parse(written) as { readonly standbys: readonly unknown[] }
  expect(note.standbys).toHaveLength(3)
  const longer = JSON.stringify({ ...note, standbys: [...note.standbys, { identity: 'd', since: '1' }] })
  expect(named({ ...HELD, annotations: { 'tenure.dev/standby': longer } })).toEqual(['a', 'b', 'c'])
})

test('what a list says in a wrong form does not count', () => {
  const entry = { identity: 'a', since: '1', strategy: 'NewestVersion' }
  const read = (...standbys: readonly unknown[]) =>
    readStandbys({ ...HELD, annotations: { 'tenure.dev/standby': JSON.stringify({ of: 3, standbys }) } })
  expect(read({ ...entry, term: 1.5, strategyVersion: 2.5 }, { ...entry, since: '1x' }, 'a')).toEqual([
    { identity: 'a', revision: undefined, zone: undefined, since: 1n, strategy: 'NewestVersion' },
  ])
  expect(read({ ...entry, term: 2, strategyVersion: 2 })).toMatchObject([{ term: 2, strategyVersion: 2 }])
})

test('the first standby takes a released lease at the moment at which it sees it, and is a standby no more', () => {
  const elector = new PureElector()
  elector.follow(lease({ version: 1n }))
  elector.now = 1000
  const time = '2026-01-01T11:30:00.000000Z'
  const released = { ...HELD, holderIdentity: '', leaseDurationSeconds: 1, acquireTime: time, renewTime: time }
  const record = withStandbys(released, plain(ME, 'other'))
  const [write] = elector
    .observe({ kind: 'present', version: 2n, record, deleting: false })
    .filter(({ kind }) => kind === 'write')
  expect(write).toMatchObject({ kind: 'write', write: { purpose: 'acquire', base: { version: 2n } } })
  if (write?.kind === 'write') expect(named(write.write.record)).toEqual(['other'])
})

test('the first standby takes a lease whose holder died at the moment at which it expires, and others hold back', () => {
  const record = withStandbys(HELD, plain(ME))
  const [standby, other] = [new PureElector(), new PureElector({ identity: 'third' })]
  for (const elector of [standby, other]) {
    elector.random = 0.5
    elector.follow({ kind: 'present', version: 1n, record, deleting: false })
    elector.passTo(15_000)
  }
  expect(standby.state.kind).toBe('acquiring')
  expect(other.state.kind).toBe('following')
  other.passTo(15_000 + 8 + 75)
  expect(other.state.kind).toBe('acquiring')
})

describe('The order of the standbys', () => {
  const join = (standbys: readonly Standby[], zone?: string): readonly string[] =>
    named(standbys.reduce((record, me) => withStandby(record, me), withStandbys(HELD, [], { zone })))

  test('is the newest revision, then the zone of the leader, then the name', () => {
    const near = inZone('here', 'c')
    const far = inZone('there', 'a')
    const unknown = inZone(undefined, 'b')
    const newer = inZone('there', 'd', '2', 9n)
    expect(join([far, near, unknown], 'here')).toEqual(['c', 'a', 'b'])
    expect(join([near, far, newer], 'here')).toEqual(['d', 'c', 'a'])
    expect(join([far, near, unknown], 'elsewhere')).toEqual(['a', 'b', 'c'])
    expect(join([far, near, unknown])).toEqual(['a', 'b', 'c'])
  })

  test('does not mix two revisions that started at the same version', () => {
    expect(join([inZone('x', 'a', '2'), inZone('x', 'b', '1'), inZone('x', 'c', '2')], 'x')).toEqual(['b', 'a', 'c'])
  })

  test('does not depend on the order in which the standbys joined', () => {
    const standby = fc.record({
      identity: fc.string({ minLength: 1, maxLength: 3 }).filter((name) => name !== HELD.holderIdentity),
      revision: fc.constantFrom(undefined, '', '1', '2'),
      zone: fc.constantFrom(undefined, '', 'x', 'y'),
      since: fc.bigInt({ min: 0n, max: 2n }),
    })
    const three = fc.uniqueArray(standby, { selector: ({ identity }) => identity, minLength: 3, maxLength: 3 })
    const zone = fc.constantFrom(undefined, '', 'x', 'y')
    fc.assert(
      fc.property(three, zone, fc.nat(5), (standbys, ofLeader, turn) => {
        const turned = [...standbys.slice(turn % 3), ...standbys.slice(0, turn % 3)]
        if (turn > 2) turned.reverse()
        expect(join(turned, ofLeader)).toEqual(join(standbys, ofLeader))
        const order = turned.toSorted(
          (a, b) => join(standbys, ofLeader).indexOf(a.identity) - join(standbys, ofLeader).indexOf(b.identity),
        )
        const revisions = order.map(({ revision }) => revision)
        expect(revisions.filter((revision, place) => revision !== revisions[place - 1] || place === 0)).toHaveLength(
          new Set(revisions).size,
        )
      }),
      { numRuns: 300, seed: 20_261_123 },
    )
  })

  test('survives a replica that does not know zones, which drops that of the leader', () => {
    const record = withStandbys(HELD, [inZone('here', 'c'), inZone('there', 'a')], { zone: 'here' })
    const {
      of: transitions,
      holder,
      standbys,
    } = JSON.parse(record.annotations['tenure.dev/standby'] ?? '') as Record<string, unknown>
    const annotations = { 'tenure.dev/standby': JSON.stringify({ of: transitions, holder, standbys }) }
    expect(named({ ...HELD, annotations })).toEqual(['c', 'a'])
    expect(named(withStandby({ ...HELD, annotations }, inZone('here', 'b')))).toEqual(['a', 'b', 'c'])
  })

  test('uses the zone that each leader states as it acquires, renews or is handed the lease', () => {
    const join2 = (record: LeaseRecord) =>
      named([inZone('x', 'a'), inZone('y', 'b')].reduce((list, me) => withStandby(list, me), record))
    const leader = new PureElector({ zone: 'y' }).lead()
    expect(join2(leader.lastWrite.write.record)).toEqual(['b', 'a'])
    const renewed = renewRecord({ ...HELD, annotations: {} }, leader.config, { wallTime: 0 })
    expect(join2(renewed)).toEqual(['b', 'a'])
    const held = withStandbys({ ...HELD, holderIdentity: 'first' }, [inZone('y', 'next'), inZone('x', 'other')], {
      zone: 'x',
    })
    const answer = { identity: 'next', nonce: 'n' }
    const transferred = transferRecord(held, answer, { wallTime: 0, returning: undefined })
    expect(join2(transferred)).toEqual(['b', 'a', 'other'])
  })
})

describe('A follower that is not on the list of standbys', () => {
  /** With a random number of 0.5. */
  const DELAY_MS = 10 * holdBackMs(0.5)
  const RENEWED_EVERY_MS = 2000

  /** Follows a lease that is renewed every two seconds and otherwise stays as it is. */
  class LongFollower extends PureElector {
    record: LeaseRecord
    version = 1n
    #renewedAt = 0

    constructor(record: LeaseRecord, config: Partial<ElectorConfig> = {}) {
      super({ announceAfterMs: undefined, ...config })
      this.random = 0.5
      this.record = record
      this.follow({ kind: 'present', version: 1n, record, deleting: false })
    }

    /** Returns the purposes of what is written up to `now`. */
    writesUntil(now: number): string[] {
      const writes: string[] = []
      while (this.now < now) {
        const renewsAt = this.#renewedAt + RENEWED_EVERY_MS
        writes.push(...purposes(this.passTo(Math.min(now, renewsAt))))
        if (this.now === renewsAt) this.renew()
      }
      return writes
    }

    renew(): void {
      this.#renewedAt = this.now
      this.see({ ...this.record, renewTime: `at ${this.now}` })
    }

    /** The lease changes to this. */
    see(record: LeaseRecord, deleting = false): void {
      this.record = record
      this.version += 1n
      this.observe({ kind: 'present', version: this.version, record, deleting })
    }

    /** What it wrote is stored. */
    store(): void {
      this.record = this.lastWrite.write.record
      this.version += 1n
      this.acknowledge(this.version)
    }
  }

  const kept = (...identities: readonly string[]) => withStandbys(HELD, plain(...identities))

  test('puts itself on it within a second, once, and changes nothing else', () => {
    const follower = new LongFollower(kept('peer'))
    expect(follower.writesUntil(DELAY_MS - 1)).toEqual([])
    expect(follower.writesUntil(DELAY_MS)).toEqual(['announce'])
    expect(follower.lastWrite.write).toMatchObject({ base: { version: 1n }, record: { ...HELD, annotations: {} } })
    expect(named(follower.lastWrite.write.record)).toEqual([ME, 'peer'])
    follower.store()
    expect(follower.writesUntil(300_000)).toEqual([])
  })

  test('writes sooner when it is the first of a new revision, and takes the place of an old one', () => {
    const full = withStandbys(HELD, [of('1', 0n, 'a'), of('1', 0n, 'b'), of('1', 0n, 'c')])
    const follower = new LongFollower(full, { revision: '2' })
    expect(follower.writesUntil(holdBackMs(0.5))).toEqual(['announce'])
    expect(named(follower.lastWrite.write.record)).toEqual([ME, 'a', 'b'])
    const late = new LongFollower(withStandby(full, of('2', 1n, 'peer')), { revision: '2' })
    expect(late.writesUntil(DELAY_MS - 1)).toEqual([])
    expect(late.writesUntil(DELAY_MS)).toEqual(['announce'])
    expect(named(late.lastWrite.write.record)).toEqual([ME, 'peer', 'a'])
  })

  test('waits longer when it sees others join, since many may be about to write', () => {
    const follower = new LongFollower(kept())
    follower.writesUntil(100)
    follower.see(kept('peer'))
    const second = 100 + 2 * (DELAY_MS - 100)
    follower.writesUntil(300)
    follower.see(kept('peer', 'another'))
    const third = 300 + 1.5 * (second - 300)
    expect(follower.writesUntil(third - 1)).toEqual([])
    expect(follower.writesUntil(third)).toEqual(['announce'])
  })

  test('does not wait for less when others leave again, nor for longer because of those of another revision', () => {
    const follower = new LongFollower(kept())
    follower.writesUntil(100)
    follower.see(kept('peer'))
    follower.writesUntil(200)
    follower.see(kept())
    const due = 100 + 2 * (DELAY_MS - 100)
    expect(follower.writesUntil(due - 1)).toEqual([])
    expect(follower.writesUntil(due)).toEqual(['announce'])
    const old = new LongFollower(withStandbys(HELD, [of('1', 1n, 'b')]), { revision: '1' })
    old.writesUntil(100)
    old.see(withStandbys(HELD, [of('2', 9n, 'a'), of('1', 1n, 'b')]))
    expect(old.writesUntil(DELAY_MS)).toEqual(['announce'])
  })

  test.each([
    ['its moment is an option', kept(), { announceAfterMs: 1000 }, 1000],
    ['the lease has forgotten its epoch', withLeastEpoch(kept(), 9n), {}, holdBackMs(0.5)],
  ])('does not wait for longer when others join where %s', (_, record, config, due) => {
    const next = (...names: readonly string[]) =>
      withStandbys({ ...HELD, holderIdentity: 'next', acquireTime: 'later' }, plain(...names))
    const follower = new LongFollower(record, config)
    follower.see(next())
    follower.writesUntil(10)
    follower.see(next('peer'))
    expect(follower.writesUntil(due - 1)).toEqual([])
    expect(follower.writesUntil(due)).toEqual(['announce'])
  })

  test('joins where an earlier revision of it is listed, and only restates itself where its own is', () => {
    const listed = withStandbys(HELD, [inZone('z', ME, '1')])
    const joins = (config: Partial<ElectorConfig>) => {
      const follower = new LongFollower(listed, config)
      const { announcement } = follower.as('following')
      return [announcement?.reason, isJoining(follower.as('following'))]
    }
    expect(joins({ revision: '2' })).toEqual(['join', true])
    expect(joins({ revision: '1', isCold: true })).toEqual(['refresh', false])
  })

  test('does not prolong the lease by that', () => {
    const follower = new LongFollower(kept())
    expect(follower.writesUntil(1000)).toEqual(['announce'])
    follower.store()
    expect(purposes(follower.passTo(14_999))).toEqual([])
    expect(purposes(follower.passTo(15_000))).toEqual(['acquire'])
  })

  test.each([
    ['full', kept('a', 'b', 'c')],
    ['of a leader that offers the lease', withOffer(kept(), { to: 'somebody' })],
    ['of a lease that was passed on', withTransferNonce(kept(), 'nonce')],
  ])('leaves a list alone that is %s', (_, record) => {
    expect(new LongFollower(record).writesUntil(200_000)).toEqual([])
  })

  test.each([
    ['is free', ''],
    ['names the replica itself, by another process', ME],
  ])('does not write itself on the list of a lease that %s', (_, holderIdentity) => {
    const follower = new LongFollower(withStandbys({ ...HELD, holderIdentity }, []), { announceAfterMs: 0 })
    follower.passTo(50)
    expect(follower.all('write')).toEqual([])
  })

  test('rests after a step-down only where it follows a strategy', () => {
    const leader = new PureElector({ announceAfterMs: undefined }).lead()
    leader.send({ kind: 'step-down', reason: 'step-down', cooldownMs: 4800 })
    leader.send({ kind: 'drained' })
    leader.acknowledge(3n)
    expect(leader.as('following').memory.restsUntil).toBeUndefined()
  })

  test('leaves the list alone when the lease is being deleted, and when it has stopped', () => {
    const follower = new LongFollower(kept())
    follower.see(kept(), true)
    expect(purposes(follower.passTo(5000))).toEqual([])
    const leaving = new LongFollower(kept())
    leaving.send({ kind: 'stop' })
    expect(purposes(leaving.passTo(5000))).toEqual([])
  })

  test('waits again when a place on a full list becomes free, since others see that at the same moment', () => {
    const follower = new LongFollower(kept('a', 'b', 'c'))
    follower.writesUntil(5000)
    follower.see(kept('a', 'b'))
    expect(follower.writesUntil(5000 + DELAY_MS - 1)).toEqual([])
    expect(follower.writesUntil(5000 + DELAY_MS)).toEqual(['announce'])
  })

  test('tries again when another replica was faster, as long as there is room', () => {
    const follower = new LongFollower(kept())
    expect(follower.writesUntil(1000)).toEqual(['announce'])
    follower.failWrite('conflict')
    follower.see(kept('peer'))
    expect(follower.writesUntil(1000 + DELAY_MS - 1)).toEqual([])
    expect(follower.writesUntil(2000)).toEqual(['announce'])
    expect(named(follower.lastWrite.write.record)).toEqual([ME, 'peer'])
    follower.failWrite('conflict')
    follower.see(kept('peer', 'a', 'b'))
    expect(follower.writesUntil(300_000)).toEqual([])
    expect(follower.all('request-failed')).toEqual([])
  })

  test('is joining until it is on the list, has found no room or has tried three times', () => {
    const follower = new LongFollower(kept())
    const joins = () => isJoining(follower.as('following'))
    expect(joins()).toBe(true)
    follower.writesUntil(1000)
    expect(joins()).toBe(true)
    follower.failWrite('conflict')
    expect(joins()).toBe(true)
    follower.see(kept('peer', 'a', 'b'))
    expect(joins()).toBe(false)
    follower.see(kept('peer'))
    expect(joins()).toBe(true)
    follower.writesUntil(3000)
    follower.failWrite('conflict')
    expect(follower.writesUntil(5000)).toEqual(['announce'])
    expect(follower.all('write')).toHaveLength(3)
    expect(joins()).toBe(true)
    const third = follower.state
    follower.failWrite('conflict')
    follower.see(kept('peer'))
    expect(follower.as('following').announcement?.dueAt).toBeDefined()
    expect(joins()).toBe(false)
    follower.state = third
    follower.store()
    expect(joins()).toBe(false)
  })

  test('is not joining where it never puts itself on the list, or stops', () => {
    expect(isJoining(new LongFollower(kept(), { announceAfterMs: Infinity }).as('following'))).toBe(false)
    const follower = new LongFollower(kept()).as('following')
    expect(isJoining({ ...follower, observation: { kind: 'unknown' } })).toBe(true)
    expect(isJoining({ ...follower, observation: { kind: 'unknown' }, leaveBy: 1000 })).toBe(false)
    expect(isJoining({ ...follower, announcement: undefined })).toBe(false)
  })

  test('takes the facts of an earlier process off its entry at once, each time', () => {
    const stale = withStandbys(HELD, [{ ...of('1', 1n, ME), strategy: 'NewestVersion' }])
    const follower = new LongFollower(stale, { revision: '1' })
    follower.passTo(1)
    for (const again of [1, 2, 3]) {
      expect(follower.all('write')).toHaveLength(again)
      follower.store()
      follower.see(stale)
      follower.passTo(follower.now + 1)
    }
  })

  test('is not joining under a leader of another client: it would be now and then, between two renewals', () => {
    const follower = new LongFollower(HELD)
    for (const now of [0, 2100, 4100, 5500]) {
      follower.writesUntil(now)
      expect(isJoining(follower.as('following'))).toBe(false)
    }
    expect(follower.writesUntil(6000)).toEqual(['announce'])
    expect(isJoining(follower.as('following'))).toBe(false)
  })

  test('tries three times at most, and not again in a term in which it was refused', () => {
    const follower = new LongFollower(kept())
    for (let second = 1; second <= 10; second++) {
      if (follower.writesUntil(second * 1000).length > 0) follower.failWrite('conflict')
    }
    expect(follower.all('write')).toHaveLength(3)
    const refused = new LongFollower(kept())
    refused.writesUntil(1000)
    refused.failWrite('forbidden')
    expect(refused.writesUntil(300_000)).toEqual([])
    expect(refused.all('request-failed')).toMatchObject([{ purpose: 'announce' }])
    refused.see(withStandbys({ ...HELD, acquireTime: '2026-01-01T12:00:10.000000Z', holderIdentity: 'next' }, []))
    expect(refused.writesUntil(301_000)).toEqual(['announce'])
  })

  test('tries once a minute after three times where it follows a strategy', () => {
    const versions = { binaryVersion: '1.0.0', emulationVersion: '1.0.0' }
    const strategy = { name: 'NewestVersion', version: 1, compare: undefined, ...versions }
    const follower = new LongFollower(kept(), { strategy })
    let last = 0
    while (follower.all('write').length < 3) {
      if (follower.writesUntil(follower.now + 1).length === 0) continue
      last = follower.now
      follower.failWrite('conflict')
    }
    expect(follower.writesUntil(last + 59_999)).toEqual([])
    expect(follower.writesUntil(last + 60_001)).toEqual(['announce'])
  })

  test('restates itself up to three times where others are faster, and then or after another failure a minute later', () => {
    const restating = (fail: (follower: LongFollower) => void) => {
      const follower = new LongFollower(withStandbys(HELD, [of('1', 1n, ME)]), { revision: '1', isCold: true })
      const times: number[] = []
      for (; follower.now < 61_000; follower.writesUntil(follower.now + 10)) {
        if (follower.all('write').length === times.length) continue
        times.push(follower.now)
        fail(follower)
      }
      return times
    }
    expect(restating((follower) => follower.failWrite('conflict'))).toEqual([0, 50, 100, 60_100, 60_150, 60_200])
    expect(restating((follower) => follower.failWrite('unreachable'))).toEqual([0, 60_000])
  })

  test('restates what has changed while its last write was in flight, a minute after it sent that', () => {
    const strategyOf = (emulationVersion: string) => ({
      name: 'NewestVersion',
      version: 1,
      compare: undefined,
      binaryVersion: '1.2.0',
      emulationVersion,
    })
    const me: Standby = { ...of('1', 1n, ME), strategy: 'NewestVersion', binaryVersion: '1.2.0' }
    const listed = withStandbys(HELD, [{ ...me, emulationVersion: '1.0.0' }])
    const follower = new LongFollower(listed, { revision: '1', strategy: strategyOf('1.1.0') })
    expect(follower.all('write')).toHaveLength(1)
    follower.writesUntil(300)
    follower.config = { ...follower.config, strategy: strategyOf('1.2.0') }
    follower.writesUntil(500)
    follower.store()
    expect(follower.writesUntil(59_999)).toEqual([])
    expect(follower.writesUntil(60_000)).toEqual(['announce'])
  })

  test('tries again in this term once its warm-ups are ready', () => {
    const follower = new LongFollower(kept(), { isCold: true })
    for (let second = 1; second <= 10; second++) {
      if (follower.writesUntil(second * 1000).length > 0) follower.failWrite('conflict')
    }
    expect(follower.all('write')).toHaveLength(3)
    follower.config = { ...follower.config, isCold: false }
    follower.send({ kind: 'wake' })
    expect(follower.writesUntil(12_000)).toEqual(['announce'])
  })

  test('writes again, after its readiness has changed, only when the write before is answered', () => {
    const follower = new LongFollower(kept())
    expect(follower.writesUntil(DELAY_MS)).toEqual(['announce'])
    follower.config = { ...follower.config, isCold: true }
    expect(follower.writesUntil(10_000)).toEqual([])
    follower.failWrite('conflict')
    expect(follower.writesUntil(12_000)).toEqual(['announce'])
  })

  test('does not wait in a new term for the answer to what it wrote in the one before', () => {
    const follower = new LongFollower(kept())
    expect(follower.writesUntil(DELAY_MS)).toEqual(['announce'])
    follower.see(withStandbys({ ...HELD, acquireTime: '2026-01-01T12:00:10.000000Z', holderIdentity: 'next' }, []))
    expect(follower.writesUntil(2.5 * DELAY_MS)).toEqual(['announce'])
  })

  test('joins it again when the replicas of a newer revision that took its place have gone, as in a rollout that is undone', () => {
    const follower = new LongFollower(kept(), { revision: '1' })
    follower.writesUntil(DELAY_MS)
    follower.store()
    follower.see(withStandbys(HELD, [of('2', 9n, 'a'), of('2', 9n, 'b'), of('2', 9n, 'c')]))
    expect(follower.writesUntil(10_000)).toEqual([])
    follower.see(kept())
    expect(follower.writesUntil(20_000)).toEqual(['announce'])
    expect(named(follower.lastWrite.write.record)).toEqual([ME])
  })

  test.each(['throttled', 'unreachable', 'unknown-outcome'] as const)(
    'tries again after a retry period when the API server was %s',
    (failure) => {
      const follower = new LongFollower(kept())
      follower.writesUntil(DELAY_MS)
      follower.failWrite(failure)
      expect(follower.writesUntil(DELAY_MS + 1999)).toEqual([])
      expect(follower.writesUntil(DELAY_MS + 2400)).toEqual(['announce'])
      expect(isJoining(follower.as('following'))).toBe(true)
    },
  )

  test('waits for as long as a throttling API server asks before it tries again', () => {
    const follower = new LongFollower(kept())
    follower.writesUntil(DELAY_MS)
    follower.answerWrite(failed('throttled', 8000))
    expect(follower.writesUntil(DELAY_MS + 7999)).toEqual([])
    expect(follower.writesUntil(DELAY_MS + 8000)).toEqual(['announce'])
  })

  test('writes just before the next renewal of a leader that keeps no list, once it has seen two', () => {
    const follower = new LongFollower(HELD)
    expect(follower.writesUntil(4000 + 0.85 * RENEWED_EVERY_MS)).toEqual([])
    expect(follower.writesUntil(6000)).toEqual(['announce'])
    follower.failWrite('conflict')
    expect(follower.writesUntil(6000 + 0.85 * RENEWED_EVERY_MS)).toEqual([])
    expect(follower.writesUntil(8000)).toEqual(['announce'])
    follower.store()
    expect(named(follower.record)).toEqual([ME])
    expect(follower.writesUntil(30_000)).toEqual([])
    const second = new LongFollower(follower.record, { identity: 'second' })
    expect(second.writesUntil(4000 + 0.85 * RENEWED_EVERY_MS)).toEqual([])
    expect(second.writesUntil(6000)).toEqual(['announce'])
    expect(named(second.lastWrite.write.record)).toEqual([ME, 'second'])
  })

  test('writes at the time of its option also under a leader that keeps no list', () => {
    const follower = new LongFollower(HELD, { announceAfterMs: 1000 })
    follower.passTo(500)
    follower.renew()
    expect(follower.writesUntil(999)).toEqual([])
    expect(follower.writesUntil(1000)).toEqual(['announce'])
  })

  test('does not take its own start for a renewal', () => {
    const follower = new LongFollower(HELD)
    follower.passTo(500)
    follower.renew()
    expect(follower.writesUntil(2500 + 0.85 * RENEWED_EVERY_MS)).toEqual([])
    expect(follower.writesUntil(4500)).toEqual(['announce'])
  })

  test('does not take an acquisition for a renewal: client-go renews immediately afterwards', () => {
    const follower = new LongFollower(HELD)
    follower.writesUntil(2000)
    follower.see({ ...HELD, holderIdentity: 'next', acquireTime: 'now', renewTime: 'now' })
    follower.passTo(2010)
    follower.renew()
    expect(follower.writesUntil(4010 + 0.85 * RENEWED_EVERY_MS)).toEqual([])
    expect(follower.writesUntil(6010)).toEqual(['announce'])
  })

  test('leaves a leader that keeps no list 40 ms to read the lease before it renews', () => {
    const follower = new LongFollower(HELD)
    for (const renewedAt of [300, 600]) {
      follower.passTo(renewedAt)
      follower.renew()
    }
    expect(purposes(follower.passTo(600 + 224))).toEqual([])
    expect(purposes(follower.passTo(600 + 260))).toEqual(['announce'])
  })

  test('writes before that renewal also when its timer is late, and not after it', () => {
    const late = (byMs: number) => {
      const follower = new LongFollower(HELD)
      follower.writesUntil(4000)
      follower.stallTo(4000 + 2000 * (0.85 + 0.12 * (holdBackMs(0.5) / 75)) + byMs)
      return purposes(follower.send({ kind: 'wake' }))
    }
    expect(late(20)).toEqual(['announce'])
    expect(late(100)).toEqual([])
  })

  test('takes a lease at once that a leader released which keeps no list, if it is the first on it', () => {
    const follower = new LongFollower(HELD)
    follower.writesUntil(6000)
    follower.store()
    const released = {
      ...follower.record,
      holderIdentity: '',
      leaseDurationSeconds: 1,
      acquireTime: 'now',
      renewTime: 'now',
    }
    follower.see(released)
    expect(follower.state.kind).toBe('acquiring')
  })
})

describe('A standby that stops', () => {
  const listed = (...identities: readonly string[]) =>
    ({ kind: 'present', version: 1n, record: withStandbys(HELD, plain(...identities)), deleting: false }) as const

  const stopping = (...identities: readonly string[]) => {
    const elector = new PureElector()
    elector.follow(listed(...identities))
    const effects = elector.send({ kind: 'stop' })
    return { elector, effects }
  }

  test('takes itself off the list first', () => {
    const { elector, effects } = stopping('a', ME, 'b')
    expect(purposes(effects)).toEqual(['announce'])
    expect(named(elector.lastWrite.write.record)).toEqual(['a', 'b'])
    elector.acknowledge(2n)
    expect(elector.state.kind).toBe('stopped')
  })

  test('tries again when the list has changed under its write', () => {
    const { elector } = stopping('a', ME)
    elector.failWrite('conflict')
    elector.observe({ ...listed('a', ME, 'c'), version: 2n })
    elector.passTo(49)
    expect(elector.all('write')).toHaveLength(1)
    expect(purposes(elector.passTo(50))).toEqual(['announce'])
    expect(named(elector.lastWrite.write.record)).toEqual(['a', 'c'])
    elector.acknowledge(3n)
    expect(elector.state.kind).toBe('stopped')
  })

  test('stops when the list has changed under its write again, also where it follows a strategy', () => {
    const versions = { binaryVersion: '1.0.0', emulationVersion: '1.0.0' }
    const elector = new PureElector({
      strategy: { name: 'NewestVersion', version: 1, compare: undefined, ...versions },
    })
    elector.follow(listed('a', ME))
    elector.send({ kind: 'stop' })
    elector.failWrite('conflict')
    elector.observe({ ...listed('a', ME, 'c'), version: 2n })
    expect(purposes(elector.passTo(50))).toEqual(['announce'])
    elector.failWrite('conflict')
    expect(elector.state.kind).toBe('stopped')
  })

  test('takes itself off that it has only just put itself on', () => {
    const elector = new PureElector({ announceAfterMs: 0 })
    expect(purposes(elector.follow(listed()))).toEqual(['announce'])
    expect(elector.send({ kind: 'stop' })).toEqual([])
    expect(purposes(elector.acknowledge(2n))).toEqual(['announce'])
    expect(named(elector.lastWrite.write.record)).toEqual([])
    elector.acknowledge(3n)
    expect(elector.state.kind).toBe('stopped')
  })

  test.each(['forbidden', 'unreachable', 'unknown-outcome', 'not-found'] as const)(
    'stops if its write is %s',
    (failure) => {
      const { elector } = stopping(ME)
      elector.failWrite(failure)
      expect(elector.state.kind).toBe('stopped')
    },
  )

  test('stops after a second if its write is not answered', () => {
    const { elector } = stopping(ME)
    elector.passTo(999)
    expect(elector.state.kind).toBe('following')
    elector.passTo(1000)
    expect(elector.state.kind).toBe('stopped')
  })

  test('stays on the list of a holder that keeps none, whose release would fail because of the write', () => {
    const elector = new PureElector()
    const record = withStandby({ ...HELD, holderIdentity: 'client-go' }, of('1', 1n, ME))
    elector.follow({ kind: 'present', version: 1n, record, deleting: false })
    elector.send({ kind: 'stop' })
    expect(elector.all('write')).toEqual([])
    expect(elector.state.kind).toBe('stopped')
  })

  test('writes nothing to a lease that is free, so that it does not delay those that acquire it', () => {
    const elector = new PureElector()
    elector.random = 0.5
    const record = withStandbys({ ...HELD, holderIdentity: '' }, plain('a', ME))
    elector.follow({ kind: 'present', version: 1n, record, deleting: false })
    elector.send({ kind: 'stop' })
    expect(elector.all('write')).toEqual([])
    expect(elector.state.kind).toBe('stopped')
  })
})

describe('A leader', () => {
  const leading = (config: Partial<ElectorConfig>, { isRenewed = true } = {}) => {
    const elector = new PureElector({ revision: '1', ...config }).lead()
    if (isRenewed) {
      elector.passTo(2000)
      elector.acknowledge(3n)
    }
    const standby = (revision: string | undefined, since: bigint, facts: Partial<Standby> = {}) => {
      const { record } = elector.as('leading').hold.lease
      const list = withStandby(record, { identity: 'next', revision, since, ...facts })
      return elector.observe({ kind: 'present', version: 10n + since, record: list, deleting: false })
    }
    /** What this leader, which leads on, has offered by now. */
    const offered = () => {
      elector.passTo(elector.now)
      elector.as('leading')
      return readOffer(elector.lastWrite.write.record)
    }
    return { elector, standby, offered }
  }

  test('that is eager hands over to a standby of a newer revision, and to no other', () => {
    const { elector, standby, offered } = leading({ isEager: true })
    standby('1', 9n)
    standby(undefined, 10n)
    expect(offered()).toBeUndefined()
    standby('2', 11n)
    expect(offered()).toEqual({ to: 'next' })
    elector.takeOffer(30n)
    expect(elector.as('draining').stepDown).toEqual({
      reason: 'step-down',
      to: 'next',
      cooldownMs: 4800,
      answerTimeoutMs: 1000,
    })
  })

  test('that is eager leads until its first renewal, since replicas of its own revision that missed their turn join again', () => {
    const { elector, standby, offered } = leading({ isEager: true }, { isRenewed: false })
    standby('2', 11n)
    expect(offered()).toBeUndefined()
    elector.passTo(2000)
    elector.acknowledge(30n)
    expect(offered()).toEqual({ to: 'next' })
  })

  test('that is eager leads until that standby answers, which may have crashed, and is its standby', () => {
    const { elector, standby, offered } = leading({ isEager: true })
    standby('2', 11n)
    expect(offered()).toEqual({ to: 'next' })
    elector.passTo(2999)
    expect(elector.all('end-term')).toEqual([])
    elector.takeOffer(30n)
    expect(purposes(elector.send({ kind: 'drained' }))).toEqual(['transfer'])
    expect(elector.lastWrite.write.record.holderIdentity).toBe('next')
    expect(named(elector.lastWrite.write.record)).toEqual([ME])
  })

  test('that is eager stays when the other revision is older than its own, or that standby is not warm', () => {
    const { standby, offered } = leading({ isEager: true })
    standby('2', 0n)
    standby('2', 11n, { warm: false })
    expect(offered()).toBeUndefined()
  })

  test('that is not eager stays', () => {
    const { standby, offered } = leading({})
    standby('2', 11n)
    expect(offered()).toBeUndefined()
  })
})

describe('A replica that acquires a lease', () => {
  const taken = (identities: readonly string[], free: Partial<LeaseRecord>, identity = ME) =>
    remainingStandbys(withStandbys({ ...HELD, ...free }, plain(...identities)), identity).map(
      (standby) => standby.identity,
    )

  test('leaves on the list those whose turn had not come, and takes off those who let it go', () => {
    expect(taken([ME, 'a', 'b'], { holderIdentity: '' })).toEqual(['a', 'b'])
    expect(taken(['dead', ME, 'b'], { holderIdentity: '' })).toEqual(['b'])
    expect(taken(['dead', ME, 'b'], {})).toEqual(['b'])
  })

  test('and is not on the list, takes all of them off but a leader that has just released', () => {
    expect(taken(['dead', 'dead too', 'returning'], { holderIdentity: '' })).toEqual(['returning'])
    expect(taken(['dead', 'dead too'], {})).toEqual([])
  })

  test('again from itself leaves the list as it is', () => {
    expect(taken(['a', 'b'], { holderIdentity: ME })).toEqual(['a', 'b'])
  })
})
