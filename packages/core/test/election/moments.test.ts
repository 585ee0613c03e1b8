import { describe, expect, test } from 'vitest'
import type { Following, Hold } from '../../src/election/machine/state.ts'
import { announcedRecord, listedLease } from '../../src/election/phases/listing.ts'
import { beforeRenewal } from '../../src/election/rules/before-renewal.ts'
import { isHeldForLife, nextChance } from '../../src/election/rules/chance.ts'
import { cutShort } from '../../src/election/rules/cut-short.ts'
import { earliest } from '../../src/election/rules/earliest.ts'
import { withWatch } from '../../src/election/rules/memory.ts'
import { readStandbys } from '../../src/election/rules/standby-note.ts'
import { withStandbys } from '../../src/election/rules/standby.ts'
import { withTransferNonce } from '../../src/election/rules/transfer-notes.ts'
import { resolveTimingOptions } from '../../src/election/timing-options.ts'
import { leastEpochOf } from '../../src/lock/lease-record.ts'
import type { LockSnapshot } from '../../src/lock/lock.ts'
import { CONFIG, lease, ME, PureElector } from './pure-elector.ts'

const instant = (now: number) => ({ now, wallTime: now, random: 0 })

/** A follower that sees the given lease and does not take it. */
function followerOf(snapshot: LockSnapshot): Following {
  const elector = new PureElector({ neverLeads: true })
  elector.follow(snapshot)
  return elector.as('following')
}

describe('The moment before the renewal of another client', () => {
  const follower = followerOf(lease({ version: 1n }))
  const { observation, announcement } = follower
  if (observation.kind !== 'present') throw new Error('Expected the follower to see the lease')
  const renewing: Following = {
    ...follower,
    holdBackMs: 0,
    observation: { ...observation, changedAt: 1000, renewedAfterMs: 2000 },
  }

  test('is a share of the distance of its renewals', () => {
    expect(beforeRenewal(renewing, instant(1000))).toBe(1000 + 2000 * 0.97 - 2000 * (0.97 - 0.85))
  })

  test('is over when the renewal is due, and after a write since the last one', () => {
    expect(beforeRenewal(renewing, instant(2999))).toBeDefined()
    expect(beforeRenewal(renewing, instant(3000))).toBeUndefined()
    const sent = { term: { identity: 'other', acquireTime: undefined }, isLeaving: false, attempts: 1 } as const
    const written = { ...announcement, ...sent, dueAt: undefined, request: undefined, pace: undefined }
    expect(beforeRenewal({ ...renewing, announcement: { ...written, sentAfter: 1000 } }, instant(1000))).toBeUndefined()
    expect(beforeRenewal({ ...renewing, announcement: { ...written, sentAfter: 500 } }, instant(1000))).toBeDefined()
  })
})

describe('A hold of an edited lease', () => {
  const held = new PureElector().lead().as('leading').hold
  const { timing } = CONFIG
  const edited = (leaseDurationSeconds: number): Hold => ({
    ...held,
    lease: { ...held.lease, record: { ...held.lease.record, leaseDurationSeconds } },
    request: { kind: 'waiting', at: 9000 },
  })

  test('is as it was where the edit grants as much time', () => {
    const same = edited(15)
    expect(cutShort(same, instant(0), timing)).toBe(same)
  })

  test('is renewed halfway to its earlier deadline', () => {
    const { validUntil, deadlineAt, request } = cutShort(edited(10), instant(1000), timing)
    expect({ validUntil, deadlineAt }).toEqual({ validUntil: 9500, deadlineAt: 9500 - timing.abortGraceMs })
    expect(request).toEqual({ kind: 'waiting', at: 1000 + (deadlineAt - 1000) / 2 })
  })
})

describe('A chance to acquire a lease', () => {
  const free = lease({ version: 1n, holderIdentity: '' })

  test('is none for a replica that stops', () => {
    const follower = followerOf(free)
    expect(nextChance(follower, CONFIG)).toMatchObject({ freeSince: 0 })
    expect(nextChance({ ...follower, leaveBy: 100 }, CONFIG)).toBeUndefined()
  })

  test('is where a coordinator of the server names the replica, and not while it is unknown who decides', () => {
    const named = followerOf(lease({ version: 1n, holderIdentity: ME }))
    expect(nextChance(named, { ...CONFIG, coordination: 'server' })).toMatchObject({ freeSince: 0 })
    expect(nextChance(named, { ...CONFIG, coordination: 'asking' })).toBeUndefined()
  })

  test('comes by time with a transferred lease, which nobody holds for life yet', () => {
    const { memory } = followerOf(free)
    const { record } = lease({ version: 1n })
    expect(isHeldForLife(memory, record)).toBe(true)
    expect(isHeldForLife(memory, withTransferNonce(record, 'n'))).toBe(false)
  })
})

describe('A follower that knows of a greater epoch than a restored lease', () => {
  const knowing = (follower: Following): Following => ({
    ...follower,
    memory: { ...follower.memory, highestEpoch: 9n },
  })
  const free = lease({ version: 1n, holderIdentity: '' })

  test('writes the epoch, and not itself, to a lease that is free', () => {
    const written = announcedRecord(knowing(followerOf(free)), free, CONFIG)
    expect(leastEpochOf(written)).toBe(9n)
    expect(readStandbys(written)).toEqual([])
  })

  test('writes the epoch only where the lease has forgotten it', () => {
    const held = lease({ version: 1n })
    const follower = followerOf(held)
    expect(leastEpochOf(announcedRecord(follower, held, { ...CONFIG, announceAfterMs: 0 }))).toBe(0n)
    expect(leastEpochOf(announcedRecord(knowing(follower), held, { ...CONFIG, announceAfterMs: 0 }))).toBe(9n)
  })

  test('leaves the list of a free lease as it is where it may not be on it', () => {
    const record = withStandbys(free.record, [{ identity: ME, revision: undefined, since: 1n }])
    const written = announcedRecord(knowing(followerOf(free)), { ...free, record }, { ...CONFIG, isUnready: true })
    expect(readStandbys(written)).toMatchObject([{ identity: ME }])
  })

  test('writes nothing any more when it stops', () => {
    const follower = knowing(followerOf(free))
    expect(listedLease(follower, CONFIG)).toEqual(free)
    expect(listedLease({ ...follower, leaveBy: 100 }, CONFIG)).toBeUndefined()
  })
})

test('the earliest of no times is none', () => {
  expect(earliest([])).toBeUndefined()
  expect(earliest([undefined])).toBeUndefined()
  expect(earliest([undefined, 7, 5])).toBe(5)
})

test('a watch counts as connected since it connected, not since it said so again', () => {
  const { memory } = followerOf(lease({ version: 1n }))
  const up = withWatch({ ...memory, watch: 'down' }, 'up', instant(5))
  expect(withWatch(up, 'up', instant(9)).watchSince).toBe(5)
  expect(withWatch(up, 'down', instant(9)).watchSince).toBe(9)
})

test('a term that began after a wait says for how long the lease was without a leader', () => {
  const elector = new PureElector({ timing: resolveTimingOptions({ acquireDelayMs: 1000 }) })
  elector.follow(lease({ version: 1n }))
  elector.passTo(15_000)
  elector.acknowledge(2n)
  elector.as('reserving')
  elector.passTo(16_000)
  expect(elector.all('begin-term')).toMatchObject([{ handoverMs: 1000 }])
})
