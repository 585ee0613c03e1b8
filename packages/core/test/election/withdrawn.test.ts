import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ElectorConfig } from '../../src/election/machine/config.ts'
import { isJoining } from '../../src/election/phases/announcing.ts'
import { withStandby } from '../../src/election/rules/standby.ts'
import { withLeastEpoch } from '../../src/lock/lease-record.ts'
import { withAnswer, withOffer, withTransferNonce } from '../../src/election/rules/transfer-notes.ts'
import { HELD, kept, ListFollower, named } from './list-follower.ts'
import type { LockFailure } from '../../src/lock/lock-request-error.ts'
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

/** A follower of a leader that keeps a list, and an API server that answers its writes. */
class Applicant {
  readonly follower: ListFollower
  #record = kept('a', ME, 'b')
  #answered = 0

  constructor() {
    this.follower = new ListFollower(this.#record)
  }

  get isListed(): boolean {
    return named(this.#record).includes(ME)
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
      if (this.follower.now % 2000 < 25) this.follower.renew(this.#record)
    }
  }
}

describe('A follower whose writes to the list fail', () => {
  const READY: Partial<ElectorConfig> = { isUnready: false, isCold: false, departure: undefined }
  const standing = fc.constantFrom<Partial<ElectorConfig>>(
    READY,
    { isUnready: true },
    { isCold: true },
    { departure: 'draining' },
    { departure: 'stopping' },
  )
  const failure = fc.constantFrom<LockFailure>('conflict', 'unreachable', 'unknown-outcome', 'throttled', 'rejected')
  const step = fc.record({ standing, failure: fc.option(failure, { nil: undefined }), ms: fc.integer({ max: 9000 }) })

  test.each<[string, Partial<ElectorConfig>]>([
    ['is not ready', { isUnready: true }],
    ['is about to be stopped', { departure: 'stopping' }],
    ['runs on a node that is drained', { departure: 'draining' }],
  ])('leaves it at once when it %s again, as often as that was in vain before', (_, left) => {
    const applicant = new Applicant()
    for (let time = 0; time < 3; time++) {
      applicant.follower.become({ ...READY, ...left })
      applicant.pass(5000, 'conflict')
      expect(applicant.follower.all('write')).toHaveLength(3 * (time + 1))
      applicant.follower.become(READY)
      applicant.pass(5000)
    }
    expect(purposes(applicant.follower.become({ ...READY, ...left }))).toEqual(['announce'])
    expect(named(applicant.follower.lastWrite.write.record)).toEqual(['a', 'b'])
  })

  test('joins it when it is ready again, as often as that was in vain before', () => {
    const applicant = new Applicant()
    applicant.follower.become({ isUnready: true })
    applicant.pass(5000)
    for (let time = 0; time < 3; time++) {
      applicant.follower.become({ isUnready: false })
      applicant.pass(10_000, 'conflict')
      expect(applicant.follower.all('write')).toHaveLength(1 + 3 * (time + 1))
      applicant.follower.become({ isUnready: true })
      applicant.pass(5000)
    }
    applicant.follower.become({ isUnready: false })
    applicant.pass(1000)
    expect(applicant.isListed).toBe(true)
  })

  test('is where it belongs soon after a change of its readiness, whatever failed before', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 8 }), fc.boolean(), (steps, isReady) => {
        const applicant = new Applicant()
        for (const { standing: next, failure: cause, ms } of steps) {
          applicant.follower.become({ ...READY, ...next })
          applicant.answer(cause)
          applicant.pass(ms, cause)
        }
        applicant.follower.become({ ...READY, isUnready: isReady })
        applicant.pass(2000, 'conflict')
        applicant.follower.become({ ...READY, isUnready: !isReady })
        applicant.pass(2000)
        expect(applicant.isListed).toBe(isReady)
      }),
      { numRuns: 1000 },
    )
  })
})
