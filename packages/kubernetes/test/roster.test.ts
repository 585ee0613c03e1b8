import { describe, expect, test } from 'vitest'
import type { ObservedObject } from '../src/reflector/observed-object.ts'
import type { MemberLease } from '../src/membership/member-lease.ts'
import { Roster } from '../src/membership/roster.ts'

const DURATION_MS = 15_000
const RENEWAL_MS = 5000

interface LeaseText {
  readonly durationSeconds?: number
  readonly facts?: object
  readonly labels?: Readonly<Record<string, string>>
}

/** The Lease of a member, named after it. */
function lease(name: string, version: number, { durationSeconds, facts, labels }: LeaseText = {}): ObservedObject {
  const object = {
    metadata: {
      name,
      uid: `uid of ${name}`,
      labels,
      annotations: { 'tenure.dev/member': JSON.stringify(facts ?? {}) },
    },
    spec: { holderIdentity: name, leaseDurationSeconds: durationSeconds },
  }
  return { kind: 'present', version: BigInt(version), object }
}

const absent = (version: number): ObservedObject => ({ kind: 'absent', version: BigInt(version) })

const listOf = (...leases: readonly (readonly [name: string, version: number, text?: LeaseText])[]) =>
  new Map(leases.map(([name, version, text]) => [name, lease(name, version, text)]))

/** A roster that sees and writes since time 0, with the list of version 10 from then. */
function seeing(objects: ReadonlyMap<string, ObservedObject>): Roster {
  const roster = new Roster({ self: 'me', leaseDurationMs: DURATION_MS, renewIntervalMs: RENEWAL_MS })
  roster.listed(objects, 10n, 0)
  roster.connected(0)
  roster.confirmed(0, 0)
  return roster
}

const kinds = (changes: ReturnType<Roster['tick']>) => changes.map(({ kind, member }) => `${kind} ${member.identity}`)
const identities = (leases: readonly MemberLease[]) => leases.map(({ identity }) => identity)

/** Lets a member expire at this time. */
function drop(roster: Roster, at: number): readonly string[] {
  return kinds(roster.drop(roster.expired(at), at))
}

describe('a list', () => {
  test('shows the members in the order of their identities, with what their Leases say', () => {
    const roster = new Roster({ self: 'me', leaseDurationMs: DURATION_MS, renewIntervalMs: RENEWAL_MS })
    const facts = { address: '10.0.0.2', version: '1.2', zone: 'eu-1a', notes: { color: 'blue' } }
    const changes = roster.listed(listOf(['c', 7], ['b', 8, { facts, labels: { tier: 'gold' } }], ['a', 9]), 10n, 123)
    const b = { identity: 'b', lease: 'b', state: 'living', labels: { tier: 'gold' }, renewedAt: 123, ...facts }
    expect(kinds(changes)).toEqual(['joined c', 'joined b', 'joined a'])
    expect(changes[1]).toEqual({ kind: 'joined', member: b })
    expect(roster.members.map(({ identity }) => identity)).toEqual(['a', 'b', 'c'])
    expect(roster.members[1]).toEqual(b)
    expect(identities(roster.leases)).toEqual(['c', 'b', 'a'])
    expect(roster.graves).toEqual([])
  })

  test('lets those leave that are missing in it', () => {
    const roster = seeing(listOf(['a', 5], ['b', 12]))
    expect(roster.listed(listOf(['a', 5]), 12n, 100)).toEqual([
      { kind: 'left', member: expect.objectContaining({ identity: 'b', state: 'left' }) },
    ])
    expect(roster.members.map(({ identity }) => identity)).toEqual(['a'])
  })

  test('that the watch has overtaken changes nothing about what the watch has shown since', () => {
    const roster = seeing(listOf(['a', 5], ['b', 6]))
    roster.changed('a', lease('a', 15, { facts: { zone: 'new' } }), 10)
    roster.changed('c', lease('c', 16), 10)
    expect(roster.listed(listOf(['a', 5], ['b', 6]), 10n, 20)).toEqual([])
    expect(roster.members.map(({ identity, zone }) => `${identity} ${zone}`)).toEqual([
      'a new',
      'b undefined',
      'c undefined',
    ])
  })

  test('of a store that went back counts as it is', () => {
    const roster = seeing(listOf(['a', 5], ['b', 6]))
    roster.changed('a', lease('a', 15, { facts: { zone: 'new' } }), 10)
    roster.changed('c', lease('c', 16), 10)
    expect(kinds(roster.listed(listOf(['a', 5], ['b', 6]), 9n, 20))).toEqual(['left c', 'changed a'])
    expect(roster.members.map(({ identity, zone }) => `${identity} ${zone}`)).toEqual(['a undefined', 'b undefined'])
    expect(kinds(roster.changed('d', lease('d', 10), 30))).toEqual(['joined d'])
  })
})

describe('the news of one Lease', () => {
  test('that only renews it is no change, but the time of the member starts again', () => {
    const roster = seeing(listOf(['a', 5]))
    expect(roster.changed('a', lease('a', 11), 4000)).toEqual([])
    expect(roster.members[0]?.renewedAt).toBe(4000)
    expect(roster.nextAt()).toBe(4000 + 2 * RENEWAL_MS)
  })

  test('with other facts is a change', () => {
    const roster = seeing(listOf(['a', 5]))
    const changes = roster.changed('a', lease('a', 11, { facts: { address: '10.0.0.9' } }), 4000)
    expect(changes).toEqual([
      { kind: 'changed', member: expect.objectContaining({ identity: 'a', address: '10.0.0.9', renewedAt: 4000 }) },
    ])
  })

  test('that is no newer than the last list, or than what is known, does not count', () => {
    const roster = seeing(listOf(['a', 5]))
    expect(roster.changed('a', absent(10), 100)).toEqual([])
    expect(roster.changed('b', lease('b', 10), 100)).toEqual([])
    roster.changed('a', lease('a', 20), 100)
    expect(roster.changed('a', absent(19), 200)).toEqual([])
    expect(roster.changed('a', lease('a', 20, { facts: { zone: 'x' } }), 200)).toEqual([])
    expect(roster.members.map(({ identity, renewedAt }) => [identity, renewedAt])).toEqual([['a', 100]])
  })

  test('counts before the first list, too', () => {
    const roster = new Roster({ self: 'me', leaseDurationMs: DURATION_MS, renewIntervalMs: RENEWAL_MS })
    expect(kinds(roster.changed('a', lease('a', 1), 0))).toEqual(['joined a'])
  })

  test('that it was deleted counts, though it carries the version of the last change', () => {
    const roster = seeing(listOf(['a', 7]))
    roster.changed('a', lease('a', 11), 1)
    expect(kinds(roster.changed('a', absent(11), 2))).toEqual(['left a'])
  })

  test('that it was deleted, or has no holder any more, is that the member left', () => {
    const roster = seeing(listOf(['a', 5], ['b', 6]))
    expect(kinds(roster.changed('a', absent(11), 100))).toEqual(['left a'])
    const free: ObservedObject = { kind: 'present', version: 12n, object: { metadata: { name: 'b' }, spec: {} } }
    expect(kinds(roster.changed('b', free, 100))).toEqual(['left b'])
    expect(roster.changed('x', absent(13), 100)).toEqual([])
    expect(roster.members).toEqual([])
  })
})

describe('a member that is silent', () => {
  test('is suspect after two intervals, and expires after its duration', () => {
    const roster = seeing(listOf(['a', 5], ['b', 6]))
    roster.changed('b', lease('b', 11), 3000)
    expect(roster.nextAt()).toBe(10_000)
    expect(roster.tick(9999)).toEqual([])
    expect(roster.tick(10_000)).toEqual([
      { kind: 'suspect', member: expect.objectContaining({ identity: 'a', state: 'suspect' }) },
    ])
    expect(roster.tick(10_000)).toEqual([])
    expect(identities(roster.leases)).toEqual(['a', 'b'])
    expect(roster.nextAt()).toBe(13_000)
    expect(kinds(roster.tick(13_000))).toEqual(['suspect b'])
    expect(roster.nextAt()).toBe(15_000)
    expect(roster.expired(14_999)).toEqual([])
    expect(identities(roster.expired(15_000))).toEqual(['a'])
    expect(drop(roster, 15_000)).toEqual(['gone a'])
    expect(identities(roster.graves)).toEqual(['a'])
    expect(identities(roster.leases)).toEqual(['b'])
    expect(roster.members.map(({ identity }) => identity)).toEqual(['b'])
    expect(drop(roster, 18_000)).toEqual(['gone b'])
    expect(roster.expired(100_000)).toEqual([])
    expect(roster.nextAt()).toBeUndefined()
  })

  test('whose Lease states a shorter duration than two intervals expires without having been suspect before', () => {
    const roster = seeing(listOf(['a', 5, { durationSeconds: 7 }]))
    expect(roster.nextAt()).toBe(7000)
    expect(roster.expired(6999)).toEqual([])
    expect(kinds(roster.tick(7000))).toEqual(['suspect a'])
    expect(drop(roster, 7000)).toEqual(['gone a'])
  })

  test('is living again when its Lease changes', () => {
    const roster = seeing(listOf(['a', 5]))
    roster.tick(10_000)
    expect(roster.changed('a', lease('a', 11), 12_000)).toEqual([
      { kind: 'changed', member: expect.objectContaining({ identity: 'a', state: 'living' }) },
    ])
    expect(roster.nextAt()).toBe(22_000)
  })

  test('is not dropped if its Lease has changed since, was deleted, or has more time after an outage', () => {
    const roster = seeing(listOf(['a', 5], ['b', 6], ['c', 7]))
    const expired = roster.expired(15_000)
    expect(identities(expired)).toEqual(['a', 'b', 'c'])
    roster.changed('a', lease('a', 11), 0)
    roster.changed('b', absent(12), 15_000)
    expect(kinds(roster.drop(expired, 15_000))).toEqual(['gone c'])
    const other = seeing(listOf(['a', 5]))
    const silent = other.expired(15_000)
    other.disconnected()
    other.connected(15_000)
    expect(other.drop(silent, 15_000)).toEqual([])
    expect(kinds(other.drop(silent, 30_000))).toEqual(['gone a'])
  })

  test('that is this replica itself never expires', () => {
    const roster = seeing(listOf(['me', 5]))
    expect(roster.nextAt()).toBeUndefined()
    expect(roster.tick(1e9)).toEqual([])
    expect(roster.expired(1e9)).toEqual([])
    expect(roster.members.map(({ identity }) => identity)).toEqual(['me'])
  })
})

describe('the proof of a death', () => {
  test('lets the member of that Lease be gone at once, until its Lease changes or is deleted', () => {
    const roster = seeing(listOf(['a', 5]))
    expect(roster.died('b', 'uid of b')).toEqual([])
    expect(roster.died('a', 'uid of an earlier one')).toEqual([])
    expect(roster.died('a', 'uid of a')).toEqual([
      { kind: 'gone', member: expect.objectContaining({ identity: 'a', state: 'gone' }) },
    ])
    expect(roster.died('a', 'uid of a')).toEqual([])
    expect(roster.listed(listOf(['a', 5]), 12n, 100)).toEqual([])
    expect(identities(roster.graves)).toEqual(['a'])
    expect(kinds(roster.changed('a', lease('a', 13), 200))).toEqual(['joined a'])
    roster.died('a', 'uid of a')
    expect(roster.changed('a', absent(14), 300)).toEqual([])
    expect(roster.graves).toEqual([])
  })
})

describe('the view', () => {
  test('is current once it is listed and the watch follows', () => {
    const roster = new Roster({ self: 'me', leaseDurationMs: DURATION_MS, renewIntervalMs: RENEWAL_MS })
    roster.connected(0)
    expect(roster.isCurrent).toBe(false)
    roster.listed(new Map(), 10n, 0)
    expect(roster.isCurrent).toBe(true)
    const early = new Roster({ self: 'me', leaseDurationMs: DURATION_MS, renewIntervalMs: RENEWAL_MS })
    early.listed(new Map(), 10n, 0)
    early.confirmed(0, 0)
    expect(early.isCurrent).toBe(false)
  })

  test('is not current from a failed request on until the next one succeeds', () => {
    const roster = seeing(new Map())
    roster.failed()
    expect(roster.isCurrent).toBe(false)
    roster.disconnected()
    roster.connected(100)
    expect(roster.isCurrent).toBe(false)
    roster.confirmed(100, 200)
    expect(roster.isCurrent).toBe(true)
    roster.disconnected()
    roster.connected(300)
    expect(roster.isCurrent).toBe(true)
  })

  test('is not current while the watch is lost, whatever succeeds meanwhile', () => {
    const roster = seeing(new Map())
    roster.disconnected()
    expect(roster.isCurrent).toBe(false)
    roster.confirmed(100, 200)
    expect(roster.isCurrent).toBe(false)
    roster.connected(300)
    expect(roster.isCurrent).toBe(true)
  })

  test('gives every member its time again after an outage, and only then', () => {
    const roster = seeing(listOf(['a', 5]))
    roster.connected(4000)
    roster.confirmed(4000, 4100)
    expect(roster.nextAt()).toBe(10_000)
    roster.failed()
    expect(roster.nextAt()).toBeUndefined()
    roster.confirmed(6000, 6100)
    expect(roster.nextAt()).toBe(16_100)
    roster.disconnected()
    expect(roster.nextAt()).toBeUndefined()
    roster.connected(7000)
    expect(roster.nextAt()).toBe(17_000)
  })

  test('counts more than two intervals between two successes as an outage, in whatever order they are reported', () => {
    const roster = seeing(listOf(['a', 5]))
    roster.confirmed(2000, 2000)
    roster.confirmed(1000, 2100)
    roster.confirmed(12_000, 12_100)
    expect(roster.nextAt()).toBe(10_000)
    roster.confirmed(22_001, 22_100)
    expect(roster.nextAt()).toBe(32_100)
  })
})
