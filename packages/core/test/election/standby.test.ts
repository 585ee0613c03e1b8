import { describe, expect, test } from 'vitest'
import { releaseRecord } from '../../src/election/rules/records.ts'
import { readStandbys, remainingStandbys, waitForStandbysMs, withStandbys } from '../../src/election/rules/standby.ts'
import { withOffer, withTransferNonce } from '../../src/election/rules/transfer-notes.ts'
import type { LeaseRecord } from '../../src/lock/lease-record.ts'
import { lease, ME, purposes, PureElector } from './pure-elector.ts'

const HELD: LeaseRecord = lease({ version: 1n }).record
const QUICKLY = { wallTime: 0, writeMs: 3 }

const wait = (free: LeaseRecord, identity: string) =>
  waitForStandbysMs(free, identity, { holdBackMs: 80, retryPeriodMs: 2000 })

function waitsAfter(writeMs: number): number[] {
  const released = releaseRecord(withStandbys(HELD, ['a', 'b']), { wallTime: 0, returning: undefined, writeMs })
  return ['a', 'b', 'c'].map((identity) => wait(released, identity))
}

describe('The standbys of a lease', () => {
  test('are read only together with the acquire time that they were written with', () => {
    const record = withStandbys(HELD, ['a', 'b'])
    expect(readStandbys(record)).toEqual(['a', 'b'])
    expect(readStandbys({ ...record, acquireTime: '2026-01-01T11:59:59.000000Z' })).toEqual([])
  })

  test.each(['', 'null', '[]', '"x"', '{"of":1}', '{"of":"t","identities":7}', '{'])(
    'are none where the annotation says %s',
    (text) => {
      expect(readStandbys({ ...HELD, acquireTime: 't', annotations: { 'tenure.dev/standby': text } })).toEqual([])
    },
  )

  test('get a leader that follows again at their end, and not a leader that stops', () => {
    const held = withStandbys(HELD, ['a'])
    expect(readStandbys(releaseRecord(held, { ...QUICKLY, returning: 'b' }))).toEqual(['a', 'b'])
    expect(readStandbys(releaseRecord(held, { ...QUICKLY, returning: undefined }))).toEqual(['a'])
  })

  test('try one after the other, and all others after them and spread', () => {
    const released = withStandbys({ ...HELD, holderIdentity: '' }, ['a', 'b'])
    expect(wait(released, 'a')).toBe(0)
    expect(wait(released, 'b')).toBe(25)
    expect(wait(released, 'c')).toBe(130)
  })

  test('and all others are spread by as much more as the writes of the leader took longer than usual', () => {
    expect(waitsAfter(7)).toEqual([0, 25, 130])
    expect(waitsAfter(30)).toEqual([0, 100, 520])
  })

  test('and nobody waits for longer than a client that polls would, whatever the leader says of its writes', () => {
    const released = withStandbys({ ...HELD, holderIdentity: '' }, ['a', 'b', 'c'], 1e9)
    const last = { holdBackMs: 75, retryPeriodMs: 2000 }
    expect(waitForStandbysMs(released, 'd', last)).toBe(2000)
    expect(waitForStandbysMs(released, 'd', { ...last, retryPeriodMs: 300 })).toBe(300)
    expect(waitForStandbysMs(released, 'd', { ...last, retryPeriodMs: 100 })).toBe(150)
  })
})

test('the first standby takes a released lease at the moment at which it sees it, and is a standby no more', () => {
  const elector = new PureElector()
  elector.follow(lease({ version: 1n }))
  elector.now = 1000
  const acquireTime = '2026-01-01T11:30:00.000000Z'
  const record = withStandbys({ ...HELD, holderIdentity: '', leaseDurationSeconds: 1, acquireTime }, [ME, 'other'])
  const [write] = elector
    .observe({ kind: 'present', version: 2n, record, deleting: false })
    .filter(({ kind }) => kind === 'write')
  expect(write).toMatchObject({ kind: 'write', write: { purpose: 'acquire', base: { version: 2n } } })
  if (write?.kind === 'write') expect(readStandbys(write.write.record)).toEqual(['other'])
})

test('the first standby takes a lease whose holder died at the moment at which it expires, and others hold back', () => {
  const record = withStandbys(HELD, [ME])
  const [standby, other] = [new PureElector(), new PureElector({ identity: 'third' })]
  for (const elector of [standby, other]) {
    elector.random = 0.5
    elector.follow({ kind: 'present', version: 1n, record, deleting: false })
    elector.passTo(15_000)
  }
  expect(standby.state.kind).toBe('acquiring')
  expect(other.state.kind).toBe('following')
  other.passTo(15_000 + 25 + 75)
  expect(other.state.kind).toBe('acquiring')
})

describe('A follower that is not on the list of standbys', () => {
  /** A lease that its holder keeps with these standbys. */
  const listed = (version: bigint, identities: readonly string[], fields: Partial<LeaseRecord> = {}) =>
    ({ kind: 'present', version, record: withStandbys({ ...HELD, ...fields }, identities), deleting: false }) as const

  /** Follows a lease that is renewed every ten seconds and otherwise stays as it is. */
  class LongFollower extends PureElector {
    record: LeaseRecord
    #version = 1n

    constructor(record: LeaseRecord) {
      super()
      this.random = 0.5
      this.record = record
      this.follow({ kind: 'present', version: 1n, record, deleting: false })
    }

    /** Returns the purposes of what is written up to `now`. */
    writesUntil(now: number): string[] {
      const writes: string[] = []
      while (this.now < now) {
        writes.push(...purposes(this.passTo(Math.min(now, this.now + 10_000))))
        this.renew()
      }
      return writes
    }

    renew(): void {
      this.record = { ...this.record, renewTime: `at ${this.now}` }
      this.#version += 1n
      this.observe({ kind: 'present', version: this.#version, record: this.record, deleting: false })
    }
  }

  test('puts itself on it once, at its end, and changes nothing else', () => {
    const follower = new LongFollower(withStandbys(HELD, ['other']))
    expect(follower.writesUntil(44_999)).toEqual([])
    expect(follower.writesUntil(45_000)).toEqual(['announce'])
    const { write } = follower.lastWrite
    expect(write.base?.version).toBe(6n)
    expect(write.record).toEqual({ ...withStandbys(HELD, ['other', ME]), renewTime: 'at 44999' })
    follower.record = write.record
    follower.acknowledge(7n)
    expect(follower.writesUntil(300_000)).toEqual([])
    expect(purposes(follower.passTo(300_000 + 15_000 + 25))).toEqual(['acquire'])
  })

  test('does not prolong the lease by that', () => {
    const follower = new LongFollower(withStandbys(HELD, []))
    follower.writesUntil(40_000)
    expect(purposes(follower.passTo(45_000))).toEqual(['announce'])
    follower.acknowledge(100n)
    expect(purposes(follower.passTo(54_999))).toEqual([])
    expect(purposes(follower.passTo(55_000))).toEqual(['acquire'])
  })

  test.each([
    ['full', withStandbys(HELD, ['a', 'b', 'c'])],
    ['not kept by the leader', HELD],
    ['of an earlier term', { ...withStandbys(HELD, []), acquireTime: 'later' }],
    ['of a leader that offers the lease', withOffer(withStandbys(HELD, []), { to: 'somebody' })],
    ['of a lease that was passed on', withTransferNonce(withStandbys(HELD, []), 'nonce')],
  ])('leaves a list alone that is %s', (_, record) => {
    expect(new LongFollower(record).writesUntil(200_000)).toEqual([])
  })

  test('leaves the list alone when the lease is being deleted, and when it has stopped', () => {
    const follower = new LongFollower(withStandbys(HELD, []))
    follower.writesUntil(40_000)
    follower.observe({ ...listed(100n, [], { renewTime: 'at last' }), deleting: true })
    expect(purposes(follower.passTo(50_000))).toEqual([])
    const leaving = new LongFollower(withStandbys(HELD, []))
    leaving.writesUntil(40_000)
    leaving.send({ kind: 'stop' })
    expect(purposes(leaving.passTo(50_000))).toEqual([])
  })

  test('tries again where somebody else was faster, as long as there is room', () => {
    const follower = new LongFollower(withStandbys(HELD, []))
    expect(follower.writesUntil(45_000)).toEqual(['announce'])
    follower.failWrite('conflict')
    follower.record = withStandbys(HELD, ['other'])
    follower.renew()
    expect(follower.writesUntil(90_000)).toEqual(['announce'])
    expect(readStandbys(follower.lastWrite.write.record)).toEqual(['other', ME])
    follower.failWrite('conflict')
    follower.record = withStandbys(HELD, ['other', 'a', 'b'])
    follower.renew()
    expect(follower.writesUntil(300_000)).toEqual([])
    expect(follower.all('request-failed')).toEqual([])
  })

  test('tries three times at most, and not again in a term in which it was refused', () => {
    const follower = new LongFollower(withStandbys(HELD, []))
    for (let round = 1; round <= 5; round++) {
      if (follower.writesUntil(round * 45_000).length > 0) follower.failWrite('conflict')
    }
    expect(follower.all('write')).toHaveLength(3)
    const refused = new LongFollower(withStandbys(HELD, []))
    refused.writesUntil(45_000)
    refused.failWrite('forbidden')
    expect(refused.writesUntil(300_000)).toEqual([])
    expect(refused.all('request-failed')).toMatchObject([{ purpose: 'announce' }])
    refused.record = withStandbys({ ...HELD, acquireTime: '2026-01-01T12:00:10.000000Z', holderIdentity: 'next' }, [])
    refused.renew()
    expect(refused.writesUntil(345_000)).toEqual(['announce'])
  })
})

describe('A replica that acquires a lease', () => {
  const taken = (identities: readonly string[], free: Partial<LeaseRecord>, identity = ME) =>
    remainingStandbys(withStandbys({ ...HELD, ...free }, identities), identity)

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
