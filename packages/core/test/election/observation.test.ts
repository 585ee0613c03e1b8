import { describe, expect, test } from 'vitest'
import type { ElectorConfig } from '../../src/election/machine/config.ts'
import type { Following, SentWrite } from '../../src/election/machine/state.ts'
import {
  isOutOfDate,
  isRestored,
  isReused,
  isStale,
  lastView,
  newestVersion,
  observationOf,
  observe,
  seenNow,
} from '../../src/election/rules/observation.ts'
import { releaseRecord } from '../../src/election/rules/records.ts'
import { withTransferNonce } from '../../src/election/rules/transfer-notes.ts'
import type { LeaseRecord } from '../../src/lock/lease-record.ts'
import type { LockSnapshot, PresentLease } from '../../src/lock/lock.ts'
import { CONFIG, lease, PureElector } from './pure-elector.ts'

const HELD = lease({ version: 1n }).record
const LATER = '2026-01-01T11:00:05.000000Z'
const UNNAMED = { acquireTime: undefined, renewTime: LATER }

/** A follower that has seen nothing yet, with the watch connected. */
function newcomer(): Following {
  const elector = new PureElector({ neverLeads: true })
  elector.send({ kind: 'start' })
  elector.send({ kind: 'watch-up' })
  return elector.as('following')
}

/** The follower after it has seen this at this moment, and what it tells about it. */
function seeing(state: Following, snapshot: LockSnapshot, now = 0, config: Partial<ElectorConfig> = {}) {
  const at = { now, wallTime: now, random: 0 }
  return observe(state, snapshot, { at, config: { ...CONFIG, ...config } })
}

const at = (version: bigint, fields: Partial<LeaseRecord> = {}): PresentLease => lease({ version, ...HELD, ...fields })
const guardOf = ({ observation }: Following) => ('guardedUntil' in observation ? observation.guardedUntil : 'none')

describe('What a replica knows of a lease', () => {
  test('says that nobody leads once the lease is gone', () => {
    const follower = seeing(newcomer(), at(1n)).state
    expect(seeing(follower, { kind: 'absent' })).toMatchObject({
      effects: [{ kind: 'leader-observed', identity: '' }],
      state: { memory: { observedLeader: '', existed: true } },
    })
    expect(seeing(newcomer(), { kind: 'absent' }).state.memory.existed).toBe(false)
  })

  test('drops views that are no newer than the last one', () => {
    const follower = seeing(newcomer(), at(5n)).state
    expect(seeing(follower, at(5n)).state).toBe(follower)
    const behind = { ...follower, memory: { ...follower.memory, isBehind: true } }
    expect(seeing(follower, at(4n, { holderIdentity: 'third' })).state).toEqual(behind)
    expect(seeing(follower, at(5n, { holderIdentity: 'third' })).state).toEqual(behind)
    expect(seeing(behind, at(4n, { holderIdentity: 'third' })).state).toBe(behind)
    expect(seeing(behind, at(5n)).state).toEqual(follower)
    expect(seeing(behind, at(6n)).state.memory.isBehind).toBe(false)
    expect(isStale(follower.observation, at(6n))).toBe(false)
    expect(isStale(follower.observation, { kind: 'absent' })).toBe(false)
    expect(isStale(follower.observation, { kind: 'absent', version: 5n })).toBe(true)
    expect(isStale(follower.observation, { kind: 'absent', version: 6n })).toBe(false)
    expect(isStale({ kind: 'unknown' }, at(1n))).toBe(false)
  })

  test('shows a watch that lags by an older version only', () => {
    const follower = seeing(newcomer(), at(5n)).state
    expect([4n, 5n, 6n].map((version) => isOutOfDate(follower, at(version)))).toEqual([true, false, false])
    expect(isOutOfDate(follower, { kind: 'absent' })).toBe(false)
    expect(isOutOfDate(newcomer(), at(1n))).toBe(false)
  })

  test('shows a restored store by a read that finds an older version than was known at its send', () => {
    const reading: Following = { ...newcomer(), readingAfter: 5n }
    expect([4n, 5n, 6n].map((version) => isRestored(reading, at(version)))).toEqual([true, false, false])
    expect(isRestored(reading, { kind: 'absent' })).toBe(false)
    expect(isRestored(newcomer(), at(1n))).toBe(false)
  })

  test('shows a restored store by another record, or none, at the version of the last view', () => {
    const follower = seeing(newcomer(), at(5n)).state
    expect(isReused(follower, at(5n))).toBe(false)
    expect(isReused(follower, at(5n, { annotations: { a: 'b' } }))).toBe(false)
    expect(isReused(follower, at(5n, { holderIdentity: 'third' }))).toBe(true)
    expect(isReused(follower, at(6n, { holderIdentity: 'third' }))).toBe(false)
    expect(isReused(follower, { kind: 'absent', version: 5n })).toBe(true)
    expect(isReused(follower, { kind: 'absent', version: 6n })).toBe(false)
    expect(isReused(newcomer(), at(5n))).toBe(false)
  })

  test('is the last view also where a refused write showed that it is outdated', () => {
    const { observation } = seeing(newcomer(), at(5n)).state
    if (observation.kind !== 'present') throw new Error('Expected a view')
    expect(lastView({ kind: 'outdated', last: observation })).toBe(observation)
    expect(lastView(observation)).toBe(observation)
    expect(lastView({ kind: 'unknown' })).toBeUndefined()
    expect(newestVersion({ kind: 'outdated', last: observation })).toBe(5n)
    expect(newestVersion({ kind: 'absent', since: 0 })).toBeUndefined()
  })

  test('is a first view after a term of this replica, and no renewal', () => {
    expect(seenNow(at(5n), 7, 9)).toEqual({
      kind: 'present',
      lease: at(5n),
      changedAt: 7,
      isRenewal: false,
      renewedAfterMs: undefined,
      guardedUntil: 9,
      longestMs: 15_000,
    })
  })
})

describe('A write of unknown outcome', () => {
  const write = (base: PresentLease | undefined): SentWrite => ({
    purpose: 'acquire',
    ...(base && { base }),
    record: HELD,
    request: 1,
    sentAt: 0,
  })
  const settles = (base: PresentLease | undefined, snapshot: LockSnapshot) =>
    seeing({ ...newcomer(), outstanding: [write(base)] }, snapshot).state.outstanding.length === 0

  test('that replaces a version can no longer succeed once a newer one was seen, or none', () => {
    expect(settles(at(5n), at(5n))).toBe(false)
    expect(settles(at(5n), at(6n))).toBe(true)
    expect(settles(at(5n), { kind: 'absent' })).toBe(true)
  })

  test('that creates the lease can no longer succeed once the lease was seen', () => {
    expect(settles(undefined, at(1n))).toBe(true)
    expect(settles(undefined, { kind: 'absent' })).toBe(false)
  })
})

test('A holder that may have renewed unseen before an edit is protected for the longest duration that its term had', () => {
  const guard = (fields: Partial<LeaseRecord>) => {
    const seen = seeing(newcomer(), at(1n, { leaseDurationSeconds: 10 })).state
    return guardOf(seeing(seen, at(2n, { leaseDurationSeconds: 5, ...fields }), 5000).state)
  }
  expect(guard({})).toBe(10_000)
  expect(guard({ renewTime: LATER })).toBe(15_000)
  expect(guard({ leaseDurationSeconds: 12, renewTime: LATER })).toBe(17_000)
  expect(guard({ acquireTime: LATER, renewTime: LATER })).toBe(10_000)
})

test('An edit that follows on a view does not say what the holder states, which a later renewal may protect for longer', () => {
  const renewed = seeing(newcomer(), at(1n, { renewTime: LATER })).state
  const edited = seeing(renewed, at(2n, { renewTime: LATER, leaseDurationSeconds: 2 }), 1000).state
  const missed: Following = { ...edited, memory: { ...edited.memory, watch: 'down' } }
  const again = at(9n, { renewTime: '2026-01-01T11:00:20.000000Z', leaseDurationSeconds: 2 })
  expect(guardOf(seeing(missed, again, 20_000).state)).toBe(35_000)
})

test('A transfer proves that the holder of before has ended, and protects the new one for its own duration', () => {
  const follower = seeing(newcomer(), at(1n)).state
  const next = { holderIdentity: 'next', acquireTime: LATER, renewTime: LATER, leaseDurationSeconds: 5 }
  expect(guardOf(seeing(follower, at(2n, next), 1000).state)).toBe(15_000)
  const transfer = withTransferNonce({ ...HELD, ...next }, 'n')
  expect(guardOf(seeing(follower, at(2n, transfer), 1000).state)).toBe(6000)
})

test('A lease that a replica sees when its hold has ended is of a later term if it is newer and has another acquire time', () => {
  const elector = new PureElector().lead(9n)
  const { memory, hold } = elector.as('leading')
  const { acquireTime } = hold.lease.record
  const guard = (version: bigint, fields: Partial<LeaseRecord>) => {
    const seen = lease({ version, holderIdentity: 'third', leaseDurationSeconds: 5, renewTime: LATER, ...fields })
    const context = { at: { now: 1000, wallTime: 1000, random: 0 }, config: CONFIG }
    const observation = observationOf(seen, { memory, hold }, context)
    return 'guardedUntil' in observation ? observation.guardedUntil : 'none'
  }
  const other = { acquireTime: HELD.acquireTime }
  expect([9n, 10n, 11n].map((version) => guard(version, other))).toEqual([1000, 16_000, 16_000])
  expect(guard(8n, other)).toBe(1000)
  expect(guard(10n, { acquireTime })).toBe(1000)
})

describe('The greatest epoch that a follower knows', () => {
  const epochAfter = (...views: readonly LockSnapshot[]) =>
    views.reduce<Following>((state, view) => seeing(state, view).state, newcomer()).memory.highestEpoch
  const released = (version: bigint, leaseTransitions = 3) => ({
    ...at(version),
    record: { ...releaseRecord(HELD, { wallTime: 0, writeMs: 0, returning: undefined }), leaseTransitions },
  })

  test('is the version at which it saw a term first', () => {
    expect(epochAfter(at(3n))).toBe(3n)
    expect(epochAfter(at(3n), at(4n, { renewTime: LATER }))).toBe(3n)
    expect(epochAfter(at(3n), at(4n, { acquireTime: LATER }))).toBe(4n)
    expect(epochAfter(at(3n), at(4n, { holderIdentity: 'third' }))).toBe(4n)
  })

  test('stays with the release of a term that it has seen', () => {
    expect(epochAfter(at(3n), released(4n))).toBe(3n)
    expect(epochAfter(released(4n))).toBe(4n)
  })

  test('grows with a release whose transitions show that it has missed a term', () => {
    expect(epochAfter(at(3n), released(9n, 4))).toBe(9n)
  })

  test('stays while there is no lease', () => {
    expect(epochAfter(at(3n), { kind: 'absent', version: 9n })).toBe(3n)
  })
})

describe('A deleted lease', () => {
  const deleted = { kind: 'absent', deleted: HELD } as const
  const follower = seeing(newcomer(), at(1n)).state
  const down: Following = { ...follower, memory: { ...follower.memory, watch: 'down' } }

  test('is remembered only where its holder kept it for life', () => {
    expect(seeing(follower, deleted).state.observation).toMatchObject({ deleted: undefined })
    const forLife = { heldForLife: true }
    const seen = seeing(follower, deleted, 5, forLife).state
    expect(seen.observation).toMatchObject({ deleted: HELD, since: 5 })
    expect(seeing(seen, { kind: 'absent' }, 9, forLife).state.observation).toMatchObject({ deleted: HELD, since: 5 })
  })

  test('protects its holder for its duration, and a holder that may have gone unseen where a coordinator may decide', () => {
    const guard = (state: Following, coordination?: ElectorConfig['coordination']) =>
      guardOf(seeing(state, { kind: 'absent' }, 5000, { coordination }).state)
    expect(guard(down)).toBe(15_000)
    expect(guard(down, 'peers')).toBe(20_000)
    expect(guard(follower, 'peers')).toBe(15_000)
    expect(guard(newcomer(), 'peers')).toBe(0)
  })
})

describe('A lease for life', () => {
  const forLife = { heldForLife: true }
  const longest = (state: Following, view: LockSnapshot, config: Partial<ElectorConfig> = forLife) =>
    seeing(state, view, 0, config).state.memory.longestHeldMs

  test('is remembered for the longest duration that a holder stated', () => {
    const seen = seeing(newcomer(), at(1n, { leaseDurationSeconds: 60 }), 0, forLife).state
    expect(seen.memory.longestHeldMs).toBe(60_000)
    expect(longest(seen, at(2n))).toBe(60_000)
    expect(longest(newcomer(), at(1n, { leaseDurationSeconds: 60 }), {})).toBeUndefined()
    expect(longest(newcomer(), at(1n, { leaseDurationSeconds: 60, holderIdentity: '' }))).toBeUndefined()
    expect(longest(newcomer(), { kind: 'absent' })).toBeUndefined()
  })

  test('protects, when it is seen first, a holder for what it states, and a holder that somebody cleared for a lease duration', () => {
    const guard = (fields: Partial<LeaseRecord>, config: Partial<ElectorConfig> = forLife) =>
      guardOf(seeing(newcomer(), at(1n, { leaseDurationSeconds: 5, ...fields }), 0, config).state)
    expect(guard({})).toBe(5000)
    expect(guard({ holderIdentity: '' })).toBe(15_000)
    expect(guard({ holderIdentity: '', leaseDurationSeconds: 1 })).toBe(0)
    expect(guard({ holderIdentity: '' }, {})).toBe(0)
    expect(guard({ renewTime: LATER })).toBe(15_000)
  })
})

describe('A holder that a coordinator may have named', () => {
  /** Until when the holder of before is protected, if this follows at 5000 on a view of `before` at 0. */
  const guard = (
    fields: Partial<LeaseRecord>,
    config: Partial<ElectorConfig> = { coordination: 'server' },
    before: LockSnapshot | undefined = at(1n),
  ) => {
    const state = seeing(newcomer(), before, 0, config).state
    return guardOf(seeing(state, at(2n, fields), 5000, config).state)
  }
  const OVER_BY_RECORD_OF_BEFORE = 15_000
  const AS_IF_ACQUIRED = 20_000
  const named: Partial<LeaseRecord> = { ...UNNAMED, holderIdentity: 'next' }
  const acquired: Partial<LeaseRecord> = { holderIdentity: 'next', acquireTime: LATER, renewTime: LATER }

  test('is a holder without an acquire time, under a coordinator and among peers', () => {
    expect(guard(named)).toBe(OVER_BY_RECORD_OF_BEFORE)
    expect(guard(named, { coordination: 'peers' })).toBe(OVER_BY_RECORD_OF_BEFORE)
    expect(guard(named, { coordination: 'asking' })).toBe(OVER_BY_RECORD_OF_BEFORE)
    expect(guard(named, {})).toBe(AS_IF_ACQUIRED)
  })

  test('is also the holder of before, if that had acquired the lease', () => {
    expect(guard({ ...UNNAMED, holderIdentity: HELD.holderIdentity })).toBe(OVER_BY_RECORD_OF_BEFORE)
  })

  test('is another holder with an acquire time only where a coordinator decides', () => {
    expect(guard(acquired)).toBe(OVER_BY_RECORD_OF_BEFORE)
    expect(guard(acquired, { coordination: 'peers' })).toBe(AS_IF_ACQUIRED)
    expect(guard({ ...acquired, holderIdentity: HELD.holderIdentity })).toBe(AS_IF_ACQUIRED)
  })

  test('is none that a transfer made, and none in a free lease', () => {
    const transferred = withTransferNonce({ ...HELD, ...acquired }, 'n')
    expect(guard(transferred)).toBe(AS_IF_ACQUIRED)
    expect(guard({ holderIdentity: '', acquireTime: undefined, renewTime: undefined })).toBe(5000)
    expect(guard({ holderIdentity: '', acquireTime: LATER, renewTime: LATER })).toBe(5000)
  })

  test('protects the holder of before for as long as its record said, if that is longer than its guard', () => {
    expect(guard(named, { coordination: 'server' }, at(1n, { leaseDurationSeconds: 30 }))).toBe(30_000)
  })

  test('follows on a holder unseen if the transitions differ, and then a whole duration counts', () => {
    expect(guard({ ...named, leaseTransitions: 4 })).toBe(20_000)
    expect(
      guard({ ...named, leaseTransitions: 4 }, { coordination: 'server' }, at(1n, { leaseDurationSeconds: 30 })),
    ).toBe(35_000)
  })

  test('is the first after none where the lease did not exist', () => {
    const absent = { kind: 'absent' } as const
    expect(guard({ ...named, leaseTransitions: undefined }, undefined, absent)).toBe(0)
    expect(guard({ ...acquired, leaseTransitions: undefined }, undefined, absent)).toBe(0)
    expect(guard(named, undefined, absent)).toBe(20_000)
  })

  test('is unknown in the first view: one without an acquire time was named, any other acquired the lease', () => {
    const first = (fields: Partial<LeaseRecord>) =>
      guardOf(seeing(newcomer(), at(1n, { leaseDurationSeconds: 5, ...fields }), 0, { coordination: 'server' }).state)
    expect(first({})).toBe(5000)
    expect(first({ acquireTime: undefined, renewTime: undefined })).toBe(15_000)
  })

  test('is no other one where a read shows a renewal of the term that was seen before', () => {
    const config = { coordination: 'server' } as const
    const before = seeing(newcomer(), at(1n, { leaseDurationSeconds: 5 }), 0, config).state
    const missed: Following = { ...before, memory: { ...before.memory, watch: 'down' } }
    const again = (fields: Partial<LeaseRecord>) =>
      guardOf(seeing(missed, at(9n, { leaseDurationSeconds: 5, renewTime: LATER, ...fields }), 1000, config).state)
    expect(again({})).toBe(6000)
    expect(again({ acquireTime: LATER })).toBe(16_000)
  })

  test('is not named again by an edit of its record, but by another name', () => {
    const config = { coordination: 'server' } as const
    const before = seeing(newcomer(), at(1n), 0, config).state
    const seen = seeing(before, at(2n, named), 5000, config).state
    const again = (fields: Partial<LeaseRecord>) =>
      guardOf(seeing(seen, at(3n, { ...named, ...fields }), 6000, config).state)
    expect(again({ renewTime: '2026-01-01T11:00:06.000000Z' })).toBe(21_000)
    expect(again({ holderIdentity: 'third' })).toBe(20_000)
  })
})
