import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ElectorConfig } from '../../src/election/machine/config.ts'
import { isJoining } from '../../src/election/phases/announcing.ts'
import { isWarm } from '../../src/election/rules/ranking.ts'
import { readStandbys } from '../../src/election/rules/standby-note.ts'
import { withStandby } from '../../src/election/rules/standby.ts'
import { type LeaseRecord, withLeastEpoch } from '../../src/lock/lease-record.ts'
import type { LockFailure } from '../../src/lock/lock-request-error.ts'
import { withAnswer, withOffer, withTransferNonce } from '../../src/election/rules/transfer-notes.ts'
import { HELD, kept, ListFollower, named } from './list-follower.ts'
import { ABSENT, ME, purposes, PureElector } from './pure-elector.ts'

describe('A replica that never leads', () => {
  const config = { neverLeads: true, revision: '2' }

  test.each([
    ['is free', { ...HELD, holderIdentity: '', leaseDurationSeconds: 1 }],
    ['expires', HELD],
    ['was transferred to its name', withTransferNonce({ ...HELD, holderIdentity: ME }, 'nonce')],
    ['has room for another standby', kept('a')],
    ['is offered to all', withOffer(kept('a'), { to: undefined })],
    ['is offered to it', withOffer(kept('a'), { to: ME })],
  ])('writes nothing while the lease %s', (_, record) => {
    const follower = new ListFollower(record, config)
    follower.passTo(3_600_000)
    expect(follower.all('write')).toEqual([])
    expect(follower.state.kind).toBe('following')
    expect(isJoining(follower.as('following'))).toBe(false)
  })

  test('does not create the lease', () => {
    const follower = new PureElector(config)
    follower.follow(ABSENT)
    follower.passTo(3_600_000)
    expect(follower.all('write')).toEqual([])
  })

  test('stops at once', () => {
    const follower = new ListFollower(kept('a'), config)
    follower.send({ kind: 'stop' })
    expect(follower.state.kind).toBe('stopped')
  })

  test('takes an earlier process of its name off the list, once', () => {
    const follower = new ListFollower(kept('a', ME), config)
    expect(follower.all('write').map(({ write }) => write.purpose)).toEqual(['announce'])
    expect(named(follower.lastWrite.write.record)).toEqual(['a'])
    follower.store()
    follower.passTo(10_000)
    expect(follower.all('write')).toHaveLength(1)
  })

  test('writes a known epoch to a lease that has lost it, and does not put itself on the list', () => {
    const follower = new ListFollower(withLeastEpoch(kept('a'), 900n), config)
    follower.see(kept('a'))
    follower.passTo(1000)
    expect(follower.all('write')).toHaveLength(1)
    expect(follower.lastWrite.write).toMatchObject({ purpose: 'announce', record: withLeastEpoch(kept('a'), 900n) })
  })
})

describe('A follower that stops', () => {
  test('leaves the list at once on which it has just written itself with an epoch that the lease had lost', () => {
    const follower = new ListFollower(withLeastEpoch(kept('a'), 900n))
    follower.see(kept('a'))
    expect(purposes(follower.passTo(1000))).toEqual(['announce'])
    expect(named(follower.lastWrite.write.record)).toEqual(['a', ME])
    follower.send({ kind: 'stop' })
    follower.store()
    expect(follower.all('write')).toHaveLength(2)
    expect(named(follower.lastWrite.write.record)).toEqual(['a'])
  })

  test('answers no offer any more, however long its last write takes', () => {
    const follower = new ListFollower(withOffer(kept('a', ME), { to: undefined }))
    follower.send({ kind: 'stop' })
    follower.passTo(900)
    expect(follower.all('write').map(({ write }) => write.purpose)).toEqual(['announce'])
  })

  test('takes no answer back that it has not given', () => {
    const offered = withOffer(kept(ME, 'a'), { to: undefined })
    const follower = new ListFollower(withAnswer(offered, { identity: 'a', nonce: 'n' }))
    follower.send({ kind: 'stop' })
    follower.passTo(900)
    expect(follower.all('write').map(({ write }) => write.purpose)).toEqual(['announce'])
  })
})

describe('A follower whose readiness checks fail', () => {
  const standby = () => {
    const follower = new ListFollower(kept('a', ME, 'b'))
    follower.change({ isUnready: true })
    return follower
  }

  test('leaves the list with the next renewal of the leader, in one write', () => {
    const follower = standby()
    expect(follower.renew(kept('a', ME, 'b'))).toEqual(['announce'])
    expect(named(follower.lastWrite.write.record)).toEqual(['a', 'b'])
    follower.store()
    for (const now of [2000, 4000, 6000]) {
      follower.passTo(now)
      expect(follower.renew(kept('a', 'b'))).toEqual([])
    }
  })

  test('tries again when the list has changed under its write, and three times at most', () => {
    const follower = standby()
    follower.renew(kept('a', ME, 'b'))
    for (let now = 50; now < 1000; now += 50) {
      if (follower.all('write').length > 0) follower.failWrite('conflict')
      follower.passTo(now)
    }
    expect(follower.all('write')).toHaveLength(3)
  })

  test('joins it again once they pass', () => {
    const follower = standby()
    follower.renew(kept('a', ME, 'b'))
    follower.store()
    follower.change({ isUnready: false })
    follower.renew(kept('a', 'b'))
    expect(isJoining(follower.as('following'))).toBe(true)
    expect(purposes(follower.passTo(1000))).toEqual(['announce'])
    expect(named(follower.lastWrite.write.record)).toEqual(['a', 'b', ME])
  })

  test('leaves the list that it has only just put itself on', () => {
    const follower = new ListFollower(kept('a'))
    expect(purposes(follower.passTo(1000))).toEqual(['announce'])
    follower.change({ isUnready: true })
    expect(follower.renew(kept('a'))).toEqual([])
    follower.store()
    expect(follower.all('write')).toHaveLength(2)
    expect(named(follower.lastWrite.write.record)).toEqual(['a'])
  })

  test('does not join, and is not about to', () => {
    const follower = new ListFollower(kept('a'), { isUnready: true })
    expect(isJoining(follower.as('following'))).toBe(false)
    expect(purposes(follower.passTo(14_999))).toEqual([])
  })

  test('stays on the list of a holder that keeps none', () => {
    const record = withStandby({ ...HELD, holderIdentity: 'client-go' }, { identity: ME, revision: '1', since: 1n })
    const follower = new ListFollower(record)
    follower.change({ isUnready: true })
    expect(follower.renew(record)).toEqual([])
    expect(purposes(follower.passTo(14_999))).toEqual([])
  })

  test('acquires the lease all the same when nobody else does, after those on the list', () => {
    const follower = new ListFollower(kept('a'), { isUnready: true })
    follower.passTo(15_000)
    expect(follower.state.kind).toBe('following')
    expect(purposes(follower.passTo(15_000 + 8 + 75))).toEqual(['acquire'])
  })

  test('is no standby of its successor when it steps down', () => {
    const leader = new PureElector({ isUnready: true }).lead()
    leader.send({ kind: 'step-down', reason: 'step-down', cooldownMs: 4800 })
    expect(purposes(leader.send({ kind: 'drained' }))).toEqual(['release'])
    expect(named(leader.lastWrite.write.record)).toEqual([])
  })
})

/** A standby of a leader that keeps a list, and an API server that answers its writes. */
class ListedFollower {
  readonly follower: ListFollower
  #record: LeaseRecord
  #answered = 0

  constructor(others: readonly string[], config: Partial<ElectorConfig> = {}) {
    this.#record = kept(...others, ME)
    this.follower = new ListFollower(this.#record, config)
  }

  /** What the list says of it. */
  get place(): 'warm' | 'last' | 'off' {
    const listed = readStandbys(this.#record).find(({ identity }) => identity === ME)
    if (listed === undefined) return 'off'
    return isWarm(listed) ? 'warm' : 'last'
  }

  /** Answers the write in flight, if there is one. */
  answer(failure?: LockFailure): void {
    if (this.follower.all('write').length === this.#answered) return
    this.#answered += 1
    if (failure !== undefined) {
      this.follower.failWrite(failure)
      return
    }
    this.#record = this.follower.lastWrite.write.record
    this.follower.store()
  }

  /** Lets time pass, in which the leader renews. Every write in it has the same answer. */
  pass(ms: number, failure?: LockFailure): void {
    for (const end = this.follower.now + ms; this.follower.now < end;) {
      this.follower.passTo(this.follower.now + 25)
      this.answer(failure)
      if (this.follower.now % 2000 === 0) this.follower.renew(this.#record)
    }
  }
}

/** What a follower says of itself, and where it then belongs if others are on the list, and if it is alone there. */
const STANDINGS = {
  ready: { config: { isUnready: false, isCold: false, departure: undefined }, among: 'warm', alone: 'warm' },
  unready: { config: { isUnready: true, isCold: false, departure: undefined }, among: 'off', alone: 'off' },
  cold: { config: { isUnready: false, isCold: true, departure: undefined }, among: 'last', alone: 'last' },
  draining: { config: { isUnready: false, isCold: false, departure: 'draining' }, among: 'off', alone: 'last' },
  stopping: { config: { isUnready: false, isCold: false, departure: 'stopping' }, among: 'off', alone: 'last' },
} as const

describe('A follower whose writes to the list fail', () => {
  const standing = fc.constantFrom(...Object.values(STANDINGS))
  const failure = fc.constantFrom<LockFailure>('conflict', 'unreachable', 'unknown-outcome', 'throttled', 'rejected')
  const versions = { binaryVersion: '1.0.0', emulationVersion: '1.0.0' }
  const strategies = fc.constantFrom(undefined, { name: 'NewestVersion', version: 1, compare: undefined, ...versions })
  const step = fc.record({
    config: standing.map(({ config }) => config),
    failure: fc.option(failure, { nil: undefined }),
    ms: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 9000 })),
  })

  test.each(['unready', 'draining', 'stopping'] as const)(
    'leaves it at once when it is %s again, although three writes have failed each time before',
    (left) => {
      const standby = new ListedFollower(['a', 'b'])
      for (let time = 1; time <= 3; time++) {
        standby.follower.become(STANDINGS[left].config)
        standby.pass(5000, 'conflict')
        expect(standby.follower.all('write')).toHaveLength(3 * time)
        standby.follower.become(STANDINGS.ready.config)
        standby.pass(5000)
      }
      expect(purposes(standby.follower.become(STANDINGS[left].config))).toEqual(['announce'])
      expect(named(standby.follower.lastWrite.write.record)).toEqual(['a', 'b'])
    },
  )

  test('joins it when it is ready again, although three writes have failed each time before', () => {
    const standby = new ListedFollower(['a', 'b'])
    standby.follower.become(STANDINGS.unready.config)
    standby.pass(5000)
    for (let time = 1; time <= 3; time++) {
      standby.follower.become(STANDINGS.ready.config)
      standby.pass(10_000, 'conflict')
      expect(standby.follower.all('write')).toHaveLength(1 + 3 * time)
      standby.follower.become(STANDINGS.unready.config)
      standby.pass(5000)
    }
    standby.follower.become(STANDINGS.ready.config)
    standby.pass(1000)
    expect(standby.place).toBe('warm')
  })

  test.each([
    ['among others', ['a'], 'among'],
    ['on a full list', ['a', 'b'], 'among'],
    ['alone', [], 'alone'],
  ] as const)(
    'is where it belongs soon after a change of its readiness, %s, whatever failed before',
    (_, others, where) => {
      const ready = fc.constant(STANDINGS.ready)
      const lastTwo = fc.oneof(fc.tuple(ready, standing), fc.tuple(standing, ready))
      fc.assert(
        fc.property(
          fc.array(step, { maxLength: 8 }),
          lastTwo,
          failure,
          strategies,
          fc.boolean(),
          (steps, [before, last], cause, strategy, isInFlight) => {
            fc.pre(before !== last)
            const standby = new ListedFollower(others, { strategy })
            for (const { config, failure: outcome, ms } of steps) {
              standby.follower.become(config)
              standby.pass(ms, outcome)
            }
            standby.follower.become(before.config)
            if (!isInFlight) standby.pass(2000, cause)
            const placeBefore = standby.place
            standby.follower.become(last.config)
            standby.answer()
            // A replica that is about to be stopped may stay on the list, but does not join it.
            const place = isInFlight ? standby.place : placeBefore
            const mayBeThere = last.config.departure === undefined || place !== 'off'
            standby.pass(2000)
            expect(standby.place).toBe(mayBeThere ? last[where] : 'off')
          },
        ),
        { numRuns: 500 },
      )
    },
  )
})
