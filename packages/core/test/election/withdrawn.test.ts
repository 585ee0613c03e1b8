import { describe, expect, test } from 'vitest'
import { isJoining } from '../../src/election/phases/announcing.ts'
import { withStandby } from '../../src/election/rules/standby.ts'
import { withLeastEpoch } from '../../src/lock/lease-record.ts'
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
