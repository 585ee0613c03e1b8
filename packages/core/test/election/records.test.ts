import { describe, expect, test } from 'vitest'
import type { ElectorConfig } from '../../src/election/machine/config.ts'
import {
  acquireRecord,
  isRelease,
  isRenewalInWholeSeconds,
  isSameRecord,
  isWrittenAs,
  releaseRecord,
  renewRecord,
  statedMs,
  successorOf,
  transferRecord,
  withGreaterEpoch,
} from '../../src/election/rules/records.ts'
import { readLeader, type Standby } from '../../src/election/rules/standby-note.ts'
import { withStandbys } from '../../src/election/rules/standby.ts'
import { readTransferNonce, withProcessRef, withTransferNonce } from '../../src/election/rules/transfer-notes.ts'
import { type LeaseRecord, leastEpochOf } from '../../src/lock/lease-record.ts'
import type { PresentLease } from '../../src/lock/lock.ts'
import { CONFIG, lease, ME } from './pure-elector.ts'

const NOON = Date.UTC(2026, 0, 1, 12)
const AT_NOON = '2026-01-01T12:00:00.000000Z'
const AFTER_NOON = '2026-01-01T12:00:00.000001Z'
const HELD = lease({ version: 1n, holderIdentity: ME }).record
const RELEASE = { wallTime: NOON, writeMs: 3, returning: undefined }
const TRANSFER = { wallTime: NOON, returning: undefined }
const ANSWER = { identity: 'next', nonce: 'n' }

const acquired = (previous: LeaseRecord | undefined, config: Partial<ElectorConfig> = {}) =>
  acquireRecord({ config: { ...CONFIG, ...config }, previous, wallTime: NOON })
const renewed = (held: LeaseRecord, config: Partial<ElectorConfig> = {}) =>
  renewRecord(held, { ...CONFIG, ...config }, { wallTime: NOON })

describe('A record', () => {
  const changes: Readonly<Record<string, Partial<LeaseRecord>>> = {
    holderIdentity: { holderIdentity: 'third' },
    leaseDurationSeconds: { leaseDurationSeconds: 16 },
    acquireTime: { acquireTime: AT_NOON },
    renewTime: { renewTime: AT_NOON },
    leaseTransitions: { leaseTransitions: 4 },
  }

  test.each(Object.entries(changes))('is another one where its %s differs', (_, change) => {
    expect(isSameRecord(HELD, { ...HELD, ...change })).toBe(false)
    expect(isSameRecord({ ...HELD, ...change }, { ...HELD, ...change })).toBe(true)
  })

  test('is the same whatever its annotations say', () => {
    expect(isSameRecord(HELD, { ...HELD, annotations: { a: 'b' } })).toBe(true)
  })

  test('counts as a write of before while its holder and its times stay, although somebody has edited the rest', () => {
    const isWritten = Object.entries(changes).map(([field, change]) => [
      field,
      isWrittenAs({ ...HELD, ...change }, HELD),
    ])
    expect(Object.fromEntries(isWritten)).toEqual({
      holderIdentity: false,
      leaseDurationSeconds: true,
      acquireTime: false,
      renewTime: false,
      leaseTransitions: true,
    })
  })

  test.each([
    [15, 15_000],
    [1, 1000],
    [0, 0],
    [-1, 0],
    [undefined, 0],
  ])('that states %s seconds grants %d ms', (leaseDurationSeconds, granted) => {
    expect(statedMs({ ...HELD, leaseDurationSeconds })).toBe(granted)
  })

  test('is a release if it has no holder, a duration of one second and one time, and not otherwise', () => {
    const released = releaseRecord(HELD, RELEASE)
    expect(isRelease(released)).toBe(true)
    expect(isRelease({ ...released, holderIdentity: ME })).toBe(false)
    expect(isRelease({ ...released, leaseDurationSeconds: 15 })).toBe(false)
    expect(isRelease({ ...released, renewTime: AFTER_NOON })).toBe(false)
  })
})

describe('For clients that compare whole seconds, a write', () => {
  const at = (second: number, fraction = '000000') => `2026-01-01T11:00:0${second}.${fraction}Z`
  const previous: LeaseRecord = { ...HELD, acquireTime: at(0), renewTime: at(1) }

  test.each<[string, boolean, Partial<LeaseRecord>]>([
    ['in the same second is no renewal', false, { renewTime: at(1, '999999') }],
    ['in the next second is one', true, { renewTime: at(2) }],
    ['with the acquire time of another second is one', true, { acquireTime: at(1) }],
    ['with an acquire time in the same second is none', false, { acquireTime: at(0, '999999') }],
    ['with another duration is none: they may have missed the edit that it undoes', false, { leaseDurationSeconds: 7 }],
    ['with another holder is one', true, { holderIdentity: 'next' }],
    ['with another number of transitions is one', true, { leaseTransitions: 4 }],
    ['without times is one', true, { acquireTime: undefined, renewTime: undefined }],
  ])('%s', (_, isRenewal, change) => {
    expect(isRenewalInWholeSeconds(previous, { ...previous, ...change })).toBe(isRenewal)
  })

  test('after a transfer is one in any case: they may have missed the transfer', () => {
    const transferred = withTransferNonce(previous, 'n')
    expect(isRenewalInWholeSeconds(transferred, transferred)).toBe(true)
  })
})

describe('The times of a write', () => {
  const TIMES = [AT_NOON, '2026-01-01T12:00:00.000001Z', '2026-01-01T12:00:00.000002Z', '2026-01-01T11:59:59.000000Z']
  const BEFORE: readonly LeaseRecord[] = TIMES.flatMap((acquireTime) =>
    TIMES.map((renewTime) => ({ ...HELD, acquireTime, renewTime })),
  )

  test.each(BEFORE)(
    'of a renewal differ from each other and from the renewal before: $acquireTime, $renewTime',
    (held) => {
      const { acquireTime, renewTime } = renewed(held)
      expect(acquireTime).toBe(held.acquireTime)
      expect([held.acquireTime, held.renewTime]).not.toContain(renewTime)
    },
  )

  test.each(BEFORE)('of a new term or a release are one, and new: after $acquireTime, $renewTime', (held) => {
    for (const record of [acquired(held), releaseRecord(held, RELEASE), transferRecord(held, ANSWER, TRANSFER)]) {
      expect(record.acquireTime).toBe(record.renewTime)
      expect([held.acquireTime, held.renewTime]).not.toContain(record.renewTime)
    }
  })

  test('are those of the clock, or up to two microseconds later', () => {
    expect(renewed({ ...HELD, acquireTime: AFTER_NOON, renewTime: AFTER_NOON }).renewTime).toBe(AT_NOON)
    expect(renewed({ ...HELD, acquireTime: AT_NOON, renewTime: AT_NOON }).renewTime).toBe(AFTER_NOON)
    expect(renewed({ ...HELD, acquireTime: AT_NOON, renewTime: AFTER_NOON }).renewTime).toBe(TIMES[2])
    expect(acquired(undefined)).toMatchObject({ acquireTime: AT_NOON, renewTime: AT_NOON })
  })
})

describe('An acquisition', () => {
  test.each<[string, LeaseRecord | undefined, number]>([
    ['creates the lease without transitions', undefined, 0],
    ['counts a transition from another holder', { ...HELD, holderIdentity: 'other' }, 4],
    ['counts none from this replica', HELD, 3],
    ['counts one from this replica where a coordinator has named it', { ...HELD, acquireTime: undefined }, 4],
    ['begins to count where nobody has', { ...HELD, holderIdentity: '', leaseTransitions: undefined }, 1],
    ['begins to count from 0 where this replica is the holder', { ...HELD, leaseTransitions: undefined }, 0],
    ['keeps a stored number in the range of the API server', { ...HELD, leaseTransitions: 2 ** 31 }, 2 ** 31 - 1],
  ])('%s', (_, previous, leaseTransitions) => {
    expect(acquired(previous)).toMatchObject({ holderIdentity: ME, leaseDurationSeconds: 15, leaseTransitions })
  })
})

describe('A renewal', () => {
  const PREFERRED: LeaseRecord = { ...HELD, preferredHolder: 'better' }

  test.each<[string, ElectorConfig['preferred'], string | undefined]>([
    ['keeps a preference while nothing is known of the candidate', undefined, 'better'],
    ['keeps a preference for a candidate that lives', { identity: 'better', isAlive: true }, 'better'],
    ['keeps a preference where another candidate has died', { identity: 'another', isAlive: false }, 'better'],
    ['clears a preference for a candidate that has died', { identity: 'better', isAlive: false }, undefined],
  ])('%s', (_, preferred, kept) => {
    expect(renewed(PREFERRED, { preferred }).preferredHolder).toBe(kept)
  })

  test('restores the duration', () => {
    expect(renewed({ ...HELD, leaseDurationSeconds: 3 })).toMatchObject({
      leaseDurationSeconds: 15,
      renewTime: AT_NOON,
    })
  })

  test('drops the notes of a transfer and says in which process the holder runs', () => {
    const transferred = withTransferNonce(HELD, 'n')
    expect(readTransferNonce(renewed(transferred))).toBeUndefined()
    expect(renewed(HELD, { processRef: 'pod' })).toEqual(withProcessRef(renewed(HELD), 'pod'))
  })

  describe('of a lease for life', () => {
    const forLife: Partial<ElectorConfig> = { heldForLife: true, processRef: 'pod' }
    const held = renewed(HELD, { processRef: 'pod' })
    const isUnchanged = (before: LeaseRecord, config = forLife) => renewed(before, config) === before

    test('writes nothing where only its time would change', () => {
      expect(isUnchanged(held)).toBe(true)
      expect(isUnchanged(held, { processRef: 'pod' })).toBe(false)
    })

    test.each<[string, Partial<LeaseRecord>, Partial<ElectorConfig>]>([
      ['somebody has edited the duration', { leaseDurationSeconds: 3 }, {}],
      ['an annotation is to be dropped', withTransferNonce(held, 'n'), {}],
      ['it has another process now', {}, { processRef: 'another' }],
      ['its process is not in the record yet', renewed(HELD), {}],
    ])('writes where %s', (_, edit, change) => {
      expect(isUnchanged({ ...held, ...edit }, { ...forLife, ...change })).toBe(false)
    })
  })
})

describe('What ends a term', () => {
  const held: LeaseRecord = { ...withTransferNonce(HELD, 'n'), preferredHolder: 'next' }

  test('does not repeat what was asked of this holder', () => {
    for (const record of [releaseRecord(held, RELEASE), transferRecord(held, ANSWER, TRANSFER)]) {
      expect(record).not.toHaveProperty('preferredHolder')
    }
    expect(readTransferNonce({ ...releaseRecord(held, RELEASE), holderIdentity: ME })).toBeUndefined()
  })

  test('releases with a duration of one second and the transitions of before', () => {
    expect(releaseRecord(held, RELEASE)).toMatchObject({
      holderIdentity: '',
      leaseDurationSeconds: 1,
      acquireTime: AT_NOON,
      renewTime: AT_NOON,
      leaseTransitions: 3,
    })
  })

  test('says on the list what its holder is only where that follows a strategy', () => {
    const strategy = {
      name: 'NewestVersion',
      version: 1,
      binaryVersion: '2.0.0',
      emulationVersion: undefined,
      compare: undefined,
    }
    const leaderOf = (config: Partial<ElectorConfig>) => readLeader(acquired(undefined, { revision: 'r', ...config }))
    expect(leaderOf({ strategy })).toMatchObject({ binaryVersion: '2.0.0', revision: 'r' })
    expect(leaderOf({})).toBeUndefined()
  })

  test('hands over with what the list says of the successor, wherever on the list that is', () => {
    const standby = (identity: string, zone: string, binaryVersion: string): Standby => ({
      identity,
      zone,
      binaryVersion,
      strategy: 'NewestVersion',
      revision: 'r',
      since: 1n,
    })
    const list = withStandbys(HELD, [standby('first', 'a', '1.0.0'), standby('next', 'b', '2.0.0')])
    const leaderAfter = (identity: string) => readLeader(transferRecord(list, { ...ANSWER, identity }, TRANSFER))
    expect(leaderAfter('next')).toMatchObject({ zone: 'b', binaryVersion: '2.0.0', revision: 'r' })
    expect(leaderAfter('first')).toMatchObject({ zone: 'a', binaryVersion: '1.0.0' })
    expect(leaderAfter('unlisted')).toBeUndefined()
  })

  test.each([
    [3, 4],
    [undefined, 1],
    [2 ** 31 - 1, 2 ** 31 - 1],
  ])('transfers with one more transition than %s', (leaseTransitions, counted) => {
    expect(transferRecord({ ...HELD, leaseTransitions }, ANSWER, TRANSFER)).toMatchObject({
      holderIdentity: 'next',
      leaseDurationSeconds: 5,
      acquireTime: AT_NOON,
      renewTime: AT_NOON,
      leaseTransitions: counted,
    })
  })
})

describe('The record of a new term', () => {
  const at = (version: bigint, annotations: LeaseRecord['annotations'] = {}): PresentLease => ({
    ...lease({ version }),
    record: { ...HELD, annotations },
  })
  const least = (base: PresentLease | undefined, known: bigint) => leastEpochOf(withGreaterEpoch(HELD, base, known))

  test('states no epoch where the versions of the store exceed all that is known', () => {
    expect(least(at(9n), 9n)).toBe(0n)
    expect(least(at(9n), 0n)).toBe(0n)
    expect(least(undefined, 0n)).toBe(0n)
  })

  test('states an epoch above the greatest that is known, where the versions of the store do not exceed it', () => {
    expect(least(at(9n), 10n)).toBe(11n)
    expect(least(undefined, 1n)).toBe(2n)
  })

  test('states an epoch above that of the lease it replaces', () => {
    expect(least(at(9n, { 'tenure.dev/least-epoch': '50' }), 10n)).toBe(51n)
    expect(least(at(9n, { 'tenure.dev/least-epoch': '50' }), 70n)).toBe(71n)
  })
})

describe('The successor by the word of a coordinator', () => {
  const preferred: LeaseRecord = { ...HELD, preferredHolder: 'next' }
  const named = (record: LeaseRecord, config: Partial<ElectorConfig> = {}) =>
    successorOf(record, {
      ...CONFIG,
      coordination: 'server',
      preferred: { identity: 'next', isAlive: true },
      ...config,
    })

  test('is the candidate that it prefers, if that is known to live', () => {
    expect(named(preferred)).toBe('next')
  })

  test.each<[string, LeaseRecord, Partial<ElectorConfig>]>([
    ['the replicas decide', preferred, { coordination: 'peers' }],
    ['nothing is known of the candidate', preferred, { preferred: undefined }],
    ['the candidate has died', preferred, { preferred: { identity: 'next', isAlive: false } }],
    ['another candidate is known to live', preferred, { preferred: { identity: 'another', isAlive: true } }],
    ['it prefers this replica', { ...HELD, preferredHolder: ME }, { preferred: { identity: ME, isAlive: true } }],
    ['it prefers nobody', HELD, {}],
  ])('is nobody where %s', (_, record, config) => {
    expect(named(record, config)).toBeUndefined()
  })
})
