import { describe, expect, test } from 'vitest'
import { MemoryLeaseStore } from '../../src/lock/memory-lock.ts'
import { electorConfig } from '../../src/manager/elector-config.ts'
import { resolveManagerOptions } from '../../src/manager/manager-options.ts'
import type { ElectorConfig } from '../../src/election/machine/config.ts'
import { isJoining } from '../../src/election/phases/announcing.ts'
import { holdBackMs } from '../../src/election/rules/hold-back.ts'
import { isWarm } from '../../src/election/rules/ranking.ts'
import { type Standby, readStandbys } from '../../src/election/rules/standby-note.ts'
import { waitForStandbysMs, withStandby, withStandbys } from '../../src/election/rules/standby.ts'
import { readAnswer, readOffer, withAnswer, withOffer } from '../../src/election/rules/transfer-notes.ts'
import type { LeaseRecord } from '../../src/lock/lease-record.ts'
import { HELD, kept, ListFollower, named } from './list-follower.ts'
import { ME, purposes, PureElector } from './pure-elector.ts'

/** A lease of which any replica may become the next holder. */
const OPEN = withOffer(HELD, { to: undefined })

/** A follower whose answer to such an offer is stored. */
function answered(): ListFollower {
  const candidate = new ListFollower(OPEN, { announceAfterMs: Infinity })
  candidate.passTo(2 * holdBackMs(0.5))
  candidate.store()
  return candidate
}

describe.each(['stopping', 'draining'] as const)('A follower whose place is %s', (departure) => {
  test('leaves the list at once, in one write, when another standby is on it', () => {
    const follower = new ListFollower(kept('a', ME, 'b'))
    expect(purposes(follower.become({ departure }))).toEqual(['announce'])
    expect(named(follower.lastWrite.write.record)).toEqual(['a', 'b'])
    follower.store()
    for (const now of [2000, 4000, 6000]) {
      follower.passTo(now)
      expect(follower.renew(kept('a', 'b'))).toEqual([])
    }
  })

  test('stays on the list while it is the only standby, and leads at once when the lease is free', () => {
    const follower = new ListFollower(kept(ME))
    follower.become({ departure })
    follower.store()
    follower.passTo(2000)
    expect(follower.renew(alone(false))).toEqual([])
    const released = { holderIdentity: '', leaseDurationSeconds: 1, acquireTime: 'at 2000', renewTime: 'at 2000' }
    follower.see({ ...alone(false), ...released })
    follower.passTo(2007)
    expect(follower.lastWrite.write.purpose).toBe('acquire')
  })

  test('says on the list that it is about to be stopped while it is the only standby, in one write at once', () => {
    const follower = new ListFollower(kept(ME))
    expect(purposes(follower.become({ departure }))).toEqual(['announce'])
    expect(readStandbys(follower.lastWrite.write.record)).toMatchObject([{ identity: ME, warm: false }])
    follower.store()
    expect(purposes(follower.passTo(14_999))).toEqual([])
  })

  test('says so when the news of a write has come, if that was faster', () => {
    const follower = new ListFollower(kept(ME))
    follower.become({ departure })
    follower.failWrite('conflict')
    follower.renew(kept(ME))
    expect(purposes(follower.passTo(50))).toEqual(['announce'])
    expect(readStandbys(follower.lastWrite.write.record)).toMatchObject([{ identity: ME, warm: false }])
  })

  test('takes that back when its place stays after all', () => {
    const follower = new ListFollower(alone(false), { departure })
    expect(purposes(follower.become({ departure: undefined }))).toEqual(['announce'])
    expect(readStandbys(follower.lastWrite.write.record).every(isWarm)).toBe(true)
  })

  test('tries later than other standbys behind the first: that may have just started', () => {
    const joined = withStandby(alone(false), { identity: 'zeta', revision: undefined, since: 1n })
    expect(waitForStandbysMs(joined, ME, { holdBackMs: 75, retryPeriodMs: 2000 })).toBe(8 + 32)
    expect(waitForStandbysMs(alone(false), ME, { holdBackMs: 75, retryPeriodMs: 2000 })).toBe(0)
  })

  test('leaves the list as soon as another standby joins, which tries first', () => {
    const newcomer: Standby = { identity: 'zeta', revision: undefined, since: 1n }
    const joined = withStandby(alone(false), newcomer)
    expect(named(joined)).toEqual(['zeta', ME])
    const follower = new ListFollower(alone(false), { departure })
    expect(follower.see(joined)).toEqual(['announce'])
    expect(named(follower.lastWrite.write.record)).toEqual(['zeta'])
  })

  test('stays when the other one has left first', () => {
    const follower = new ListFollower(kept(ME, 'b'))
    expect(purposes(follower.become({ departure }))).toEqual(['announce'])
    follower.failWrite('conflict')
    expect(follower.see(kept(ME))).toEqual(['announce'])
    expect(named(follower.lastWrite.write.record)).toEqual([ME])
    follower.store()
    expect(purposes(follower.passTo(14_999))).toEqual([])
  })

  test.each([
    ['has room', ['a']],
    ['is empty', []],
  ])('does not join a list that %s, and is not about to', (_, names) => {
    const follower = new ListFollower(kept(...names), { departure })
    expect(isJoining(follower.as('following'))).toBe(false)
    expect(purposes(follower.passTo(14_999))).toEqual([])
  })

  test('joins again when its place stays after all', () => {
    const follower = new ListFollower(kept('a'), { departure })
    follower.become({ departure: undefined })
    expect(isJoining(follower.as('following'))).toBe(true)
    expect(purposes(follower.passTo(1000))).toEqual(['announce'])
    expect(named(follower.lastWrite.write.record)).toEqual(['a', ME])
  })

  test('acquires the lease when nobody else does, no later than a replica off the list', () => {
    const follower = new ListFollower(kept('a'), { departure })
    follower.passTo(15_000)
    expect(follower.state.kind).toBe('following')
    expect(purposes(follower.passTo(15_000 + 8 + 75))).toEqual(['acquire'])
  })

  test('takes its answer back, so that another replica may succeed the leader', () => {
    const candidate = answered()
    expect(purposes(candidate.become({ departure }))).toEqual(['answer'])
    expect(readAnswer(candidate.lastWrite.write.record)).toBeUndefined()
    candidate.store()
    candidate.see(withAnswer(candidate.lastWrite.write.record, { identity: 'newcomer', nonce: 'n' }))
    expect(purposes(candidate.passTo(14_000))).toEqual([])
  })

  test('answers again a retry period later where no other replica answers, and goes on with that', () => {
    const candidate = answered()
    candidate.passTo(candidate.now + 500)
    candidate.become({ departure })
    candidate.store()
    const again = candidate.now + 2000
    expect(purposes(candidate.passTo(again - 1))).toEqual([])
    for (const at of [again, again + 2000, again + 4000]) {
      expect(purposes(candidate.passTo(at))).toEqual(['answer'])
      expect(readAnswer(candidate.lastWrite.write.record)?.identity).toBe(ME)
      candidate.store()
    }
  })

  test('answers a retry period later than otherwise, also when the answer of another one has gone', () => {
    const follower = new ListFollower(OPEN, { departure, announceAfterMs: Infinity })
    expect(purposes(follower.passTo(2000 + 2 * holdBackMs(0.5) - 1))).toEqual([])
    follower.see(withAnswer(OPEN, { identity: 'other standby', nonce: 'n' }))
    follower.passTo(6000)
    follower.renew(OPEN)
    expect(purposes(follower.passTo(8000 + 2 * holdBackMs(0.5) - 1))).toEqual([])
    expect(purposes(follower.passTo(8000 + 2 * holdBackMs(0.5)))).toEqual(['answer'])
  })

  test('answers the open offer like any other replica when its place stays after all', () => {
    const follower = new ListFollower(OPEN, { departure, announceAfterMs: Infinity })
    follower.become({ departure: undefined })
    follower.become({ departure })
    follower.become({ departure: undefined })
    follower.see(withAnswer(OPEN, { identity: 'other standby', nonce: 'n' }))
    follower.renew(OPEN)
    expect(purposes(follower.passTo(2 * holdBackMs(0.5)))).toEqual(['answer'])
  })

  test('answers at once where the offer names it: no other replica may', () => {
    const follower = new ListFollower(withOffer(HELD, { to: ME }), { departure })
    expect(follower.lastWrite.write.purpose).toBe('answer')
    follower.store()
    expect(purposes(follower.become({ departure: undefined }))).toEqual([])
    expect(purposes(follower.become({ departure }))).toEqual([])
    expect(readAnswer(follower.lastWrite.write.record)?.identity).toBe(ME)
  })

  test('is no standby of its successor when it has led and steps down', () => {
    const leader = new PureElector({ departure }).lead()
    leader.send({ kind: 'step-down', reason: 'step-down', cooldownMs: 4800 })
    expect(purposes(leader.send({ kind: 'drained' }))).toEqual(['release'])
    expect(named(leader.lastWrite.write.record)).toEqual([])
  })
})

describe('A leader whose place is being stopped', () => {
  /** A leader that has renewed once, with these standbys. */
  const leaderOver = (names: readonly string[], facts: Partial<Standby> = {}) => {
    const leader = new PureElector({ leavesEarly: true }).lead()
    leader.passTo(2000)
    leader.acknowledge(3n)
    leader.observe({ ...leader.stored(4n), record: standing(leader.stored(4n).record, names, facts) })
    return leader
  }
  /** The settings change, and the leader hears of it. Returns its state after a second, and to whom it offers the lease then. */
  const become = (leader: PureElector, config: Partial<ElectorConfig>) => {
    leader.config = { ...leader.config, ...config }
    leader.send({ kind: 'wake' })
    leader.passTo(leader.now + 1000)
    return [leader.state.kind, readOffer(leader.lastWrite.write.record)?.to]
  }

  test('offers the lease to a standby before the order to stop, and drains once that answers', () => {
    const leader = leaderOver(['a'])
    expect(leader.state.kind).toBe('leading')
    expect(become(leader, { departure: 'stopping' })).toEqual(['leading', 'a'])
    leader.takeOffer(5n)
    expect(leader.as('draining').stepDown).toMatchObject({ reason: 'step-down', to: 'a' })
  })

  test('waits for a second, in which its standbys hear whether they are stopped as well', () => {
    const leader = leaderOver(['a'])
    leader.config = { ...leader.config, departure: 'stopping' }
    leader.send({ kind: 'wake' })
    expect(purposes(leader.passTo(2999))).toEqual([])
    expect(purposes(leader.passTo(3000))).toEqual(['renew'])
    expect(readOffer(leader.lastWrite.write.record)).toEqual({ to: 'a' })
  })

  test('leads on if the standbys leave within that second, and hands over to a replica that joins later', () => {
    const leader = leaderOver(['a'])
    const { record } = leader.stored(4n)
    leader.config = { ...leader.config, departure: 'stopping' }
    leader.send({ kind: 'wake' })
    leader.observe({ ...leader.stored(5n), record: standing(record, ['a'], { warm: false }) })
    expect(purposes(leader.passTo(3999))).toEqual([])
    leader.observe({ ...leader.stored(6n), record: standing(record, ['b']) })
    leader.passTo(3999)
    leader.takeOffer(7n)
    expect(leader.as('draining').stepDown).toMatchObject({ reason: 'step-down', to: 'b' })
  })

  test('withdraws the offer if that standby says that it is about to be stopped as well', () => {
    const leader = leaderOver(['a'])
    expect(become(leader, { departure: 'stopping' })).toEqual(['leading', 'a'])
    leader.acknowledge(5n)
    leader.observe({ ...leader.stored(6n), record: standing(leader.stored(6n).record, ['a'], { warm: false }) })
    leader.passTo(3000)
    expect(readOffer(leader.lastWrite.write.record)).toBeUndefined()
    expect(leader.as('leading').proposal).toBeUndefined()
  })

  test('leads on when its place stays after all, and waits again the next time', () => {
    const leader = leaderOver([])
    become(leader, { departure: 'stopping' })
    become(leader, { departure: undefined })
    leader.config = { ...leader.config, departure: 'stopping' }
    leader.observe({ ...leader.stored(5n), record: standing(leader.stored(5n).record, ['a']) })
    expect(leader.as('leading').proposal).toBeUndefined()
  })

  test('leads on while its only standby is about to be stopped as well', () => {
    expect(become(leaderOver(['a'], { warm: false }), { departure: 'stopping' })).toEqual(['leading', undefined])
  })

  test.each<[string, readonly string[], Partial<ElectorConfig>]>([
    ['nobody stands', [], {}],
    ["it has `rollout: 'off'`", ['a'], { leavesEarly: false }],
    ['it does not release its lease', ['a'], { releaseOnExit: false }],
    ['a coordinator decides', ['a'], { coordination: 'server' }],
  ])('leads on while %s', (_, names, config) => {
    expect(become(leaderOver(names), { ...config, departure: 'stopping' })).toEqual(['leading', undefined])
  })

  test('leads on while its machine is only drained: that may take days', () => {
    expect(become(leaderOver(['a']), { departure: 'draining' })).toEqual(['leading', undefined])
  })

  test('hands over with every rollout but `off`', () => {
    const leavesEarly = (['prefer-new', 'eager', 'off'] as const).map((rollout) => {
      const lease = { name: 'janitor' }
      const options = resolveManagerOptions({
        identity: ME,
        lease,
        rollout,
        createLock: () => new MemoryLeaseStore().lock('janitor'),
      })
      return electorConfig(lease, options).leavesEarly
    })
    expect(leavesEarly).toEqual([true, true, false])
  })
})

test('Of replicas that are all being stopped, each hands the lease over once at most', () => {
  // The next leader is being stopped as well. Nobody joins its list, so it leads until the order to stop.
  const next = new PureElector({ leavesEarly: true, departure: 'stopping' }).lead()
  const former = new ListFollower(kept(), { departure: 'stopping' })
  next.passTo(2000)
  next.acknowledge(3n)
  expect(purposes(former.passTo(14_999))).toEqual([])
  expect(next.state.kind).toBe('leading')
})

/** A lease whose only standby is this replica, as it describes itself. */
function alone(warm: boolean): LeaseRecord {
  return standing(kept(), [ME], { warm })
}

function standing(record: LeaseRecord, names: readonly string[], facts: Partial<Standby> = {}): LeaseRecord {
  return withStandbys(
    record,
    names.map((identity) => ({ identity, revision: undefined, since: 1n, ...facts })),
  )
}
