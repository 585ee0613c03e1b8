import { describe, expect, test } from 'vitest'
import type { ElectorConfig } from '../../src/election/machine/config.ts'
import { readLeader, readStandbys, type Standby, withList } from '../../src/election/rules/standby-note.ts'
import { isJoining } from '../../src/election/phases/announcing.ts'
import { renewalWithProposal } from '../../src/election/phases/proposing.ts'
import { hasRoomFor, withStandby, withStandbys } from '../../src/election/rules/standby.ts'
import type { Strategy } from '../../src/election/rules/strategy.ts'
import { readRequestAnswer, withRequest, withRequestAnswered } from '../../src/election/rules/step-down-request.ts'
import { readAnswer, readOffer, withAnswer, withOffer } from '../../src/election/rules/transfer-notes.ts'
import type { PresentLease } from '../../src/lock/lock.ts'
import { lease, purposes, PureElector } from './pure-elector.ts'

const strategy: Strategy = {
  name: 'OldestEmulationVersion',
  version: 1,
  compare: undefined,
  binaryVersion: '1.36.0',
  emulationVersion: '1.36.0',
}
const standby = (identity: string, version: string, facts: Partial<Standby> = {}): Standby => ({
  identity,
  revision: undefined,
  since: 1n,
  strategy: strategy.name,
  binaryVersion: version,
  emulationVersion: version,
  ...facts,
})

const named = ({ record }: PresentLease) => readStandbys(record).map(({ identity }) => identity)

/** The lease of a leader as the store has it after a standby wrote itself on the list. */
function joined(leader: PureElector, version: bigint, me: Standby): PresentLease {
  const { lease } = leader.as('leading').hold
  return { ...lease, version, record: withStandby(lease.record, me, strategy) }
}

const leading = () => new PureElector({ strategy }).lead()

test('a leader declines no request but the one that it has declined', () => {
  const leader = new PureElector().lead()
  const { lease: held } = leader.as('leading').hold
  const requested = withRequest(held.record, { id: 'r2', to: 'third' })
  const at = { now: 0, wallTime: 0, random: 0 }
  const written = (declined: string | undefined) => {
    const { hold, ...state } = leader.as('leading')
    const lease = { ...held, record: requested }
    const next = renewalWithProposal({ ...state, hold, declined }, at, leader.config)
    return readRequestAnswer(next({ ...hold, lease }).record)
  }
  expect(written('r2')).toEqual({ id: 'r2', outcome: 'declined' })
  expect(written('r1')).toBeUndefined()
  expect(written(undefined)).toBeUndefined()
})

describe('A leader that follows a strategy', () => {
  test('states what it says of itself', () => {
    expect(readLeader(leading().as('leading').hold.lease.record)).toMatchObject({
      strategy: 'OldestEmulationVersion',
      binaryVersion: '1.36.0',
    })
  })

  test('is not described by what another holder has written, nor is a free lease', () => {
    const { record } = leading().as('leading').hold.lease
    expect(readLeader({ ...record, holderIdentity: 'other' })).toBeUndefined()
    const free = { ...record, holderIdentity: '' }
    expect(readLeader(withList(free, [], { holder: '', leader: { revision: '1' } }))).toBeUndefined()
  })

  test('offers the lease to a better standby, and ends its term when that answers', () => {
    const leader = leading()
    leader.observe(joined(leader, 3n, standby('better', '1.35.0')))
    leader.passTo(0)
    expect(readOffer(leader.lastWrite.write.record)).toEqual({ to: 'better' })
    leader.acknowledge(4n)
    expect(leader.state.kind).toBe('leading')
    const { lease } = leader.as('leading').hold
    const answered = withAnswer(lease.record, { identity: 'better', nonce: 'n' })
    leader.observe({ ...lease, version: 5n, record: answered })
    expect(leader.as('draining').stepDown).toEqual({
      reason: 'step-down',
      to: 'better',
      cooldownMs: 0,
      answerTimeoutMs: 1000,
    })
    leader.send({ kind: 'drained' })
    expect(leader.lastWrite.write).toMatchObject({ purpose: 'transfer', record: { holderIdentity: 'better' } })
    expect(readLeader(leader.lastWrite.write.record)).toMatchObject({ emulationVersion: '1.35.0' })
  })

  test('leads on at an answer to an offer that it has not made', () => {
    const leader = leading()
    const listed = joined(leader, 3n, standby('better', '1.35.0'))
    leader.observe(listed)
    leader.observe({ ...listed, version: 4n, record: withAnswer(listed.record, { identity: 'better', nonce: 'n' }) })
    expect(leader.as('leading').proposal).toMatchObject({ to: 'better' })
  })

  test.each([
    ['equal', standby('other', '1.36.0')],
    ['worse', standby('other', '1.37.0')],
    ['not warm', standby('other', '1.35.0', { warm: false })],
    ['without the strategy', standby('other', '1.35.0', { strategy: undefined })],
  ])('does nothing about a standby that is %s', (_, other) => {
    const leader = leading()
    leader.observe(joined(leader, 3n, other))
    expect(leader.passTo(100)).toEqual([])
    expect(leader.as('leading').proposal).toBeUndefined()
  })

  test('goes on leading where the standby does not answer, takes it off the list, and asks it again if it returns', () => {
    const leader = leading()
    leader.observe(joined(leader, 3n, standby('crashed', '1.35.0')))
    leader.passTo(0)
    leader.acknowledge(4n)
    leader.passTo(1000)
    expect(readOffer(leader.lastWrite.write.record)).toBeUndefined()
    leader.acknowledge(5n)
    expect(named(leader.as('leading').hold.lease)).toEqual([])
    expect(leader.as('leading').proposal).toBeUndefined()
    leader.observe(joined(leader, 6n, standby('crashed', '1.35.0', { since: 9n })))
    leader.passTo(1001)
    expect(readOffer(leader.lastWrite.write.record)).toEqual({ to: 'crashed' })
  })

  test('does not ask a standby again and again that stays on the list and does not answer', () => {
    const leader = leading()
    const crashed = joined(leader, 3n, standby('crashed', '1.35.0'))
    leader.observe(crashed)
    leader.passTo(0)
    leader.acknowledge(4n)
    leader.passTo(1000)
    // Somebody else restores the list.
    const { lease } = leader.as('leading').hold
    leader.failWrite('conflict')
    leader.answerRead({ ...lease, version: 7n, record: withOffer(lease.record, { to: 'crashed' }) })
    leader.passTo(1100)
    expect(leader.as('leading').memory.missed).toBe('crashed')
    expect(leader.as('leading').proposal).toBeUndefined()
  })

  test('withdraws the offer when the standby leaves the list', () => {
    const leader = leading()
    leader.observe(joined(leader, 3n, standby('better', '1.35.0')))
    leader.passTo(0)
    leader.acknowledge(4n)
    const { lease } = leader.as('leading').hold
    leader.observe({ ...lease, version: 5n, record: { ...lease.record, annotations: {} } })
    leader.passTo(1)
    expect(readOffer(leader.lastWrite.write.record)).toBeUndefined()
    expect(leader.as('leading').proposal).toBeUndefined()
  })

  test('leads for a minute before it compares itself with a standby that it began with', () => {
    const leader = new PureElector({ strategy })
    const free = lease({ version: 1n, holderIdentity: '' })
    leader.follow({ ...free, record: withStandbys(free.record, [standby('better', '1.35.0')]) })
    leader.passTo(1000)
    leader.acknowledge(2n)
    const leadUntil = (until: number) => {
      while (leader.now < until) {
        leader.passTo(Math.min(leader.now + 100, until))
        const { hold } = leader.as('leading')
        if (hold.request.kind === 'writing') leader.acknowledge(hold.lease.version + 1n)
      }
      leader.send({ kind: 'wake' })
      return leader.as('leading').proposal?.to
    }
    // Since its first renewal.
    expect(leadUntil(61_999)).toBeUndefined()
    expect(leadUntil(62_000)).toBe('better')
  })

  test('does not offer what it may not release', () => {
    const leader = new PureElector({ strategy, releaseOnExit: false }).lead()
    leader.observe(joined(leader, 3n, standby('better', '1.35.0')))
    expect(leader.passTo(100)).toEqual([])
  })

  test('forgets its offer when a coordinator begins to decide', () => {
    const leader = leading()
    leader.observe(joined(leader, 3n, standby('better', '1.35.0')))
    leader.passTo(0)
    leader.config = { ...leader.config, coordination: 'server' }
    leader.acknowledge(4n)
    expect(leader.as('leading').proposal).toBeUndefined()
    leader.passTo(2000)
    expect(readOffer(leader.lastWrite.write.record)).toBeUndefined()
  })

  test('accepts an answer that it sees only when the time for it is up', () => {
    const leader = leading()
    leader.observe(joined(leader, 3n, standby('better', '1.35.0')))
    leader.passTo(0)
    leader.acknowledge(4n)
    leader.stallTo(1500)
    const { lease } = leader.as('leading').hold
    leader.observe({ ...lease, version: 5n, record: withAnswer(lease.record, { identity: 'better', nonce: 'n' }) })
    expect(leader.as('draining').stepDown).toMatchObject({ to: 'better' })
  })

  test('keeps an answer of the standby with the offer, and no answer of another replica', () => {
    const answerKept = (identity: string) => {
      const leader = leading()
      const listed = joined(leader, 3n, standby('better', '1.35.0'))
      leader.observe({ ...listed, record: withAnswer(listed.record, { identity, nonce: 'n' }) })
      leader.passTo(0)
      expect(readOffer(leader.lastWrite.write.record)).toEqual({ to: 'better' })
      return readAnswer(leader.lastWrite.write.record)?.identity
    }
    expect(answerKept('better')).toBe('better')
    expect(answerKept('another')).toBeUndefined()
  })

  test('keeps the answer to an earlier request with the offer', () => {
    const leader = leading()
    const listed = joined(leader, 3n, standby('better', '1.35.0'))
    const asked = withRequest(listed.record, { id: 'r0', to: 'gone' })
    leader.observe({ ...listed, record: withRequestAnswered(asked, asked, 'declined') })
    leader.passTo(0)
    expect(readOffer(leader.lastWrite.write.record)).toEqual({ to: 'better' })
    expect(readRequestAnswer(leader.lastWrite.write.record)).toEqual({ id: 'r0', outcome: 'declined' })
  })

  test('counts the time for an answer from the write with the offer, not from a renewal that was in flight', () => {
    const leader = leading()
    leader.passTo(2000)
    const { base } = leader.lastWrite.write
    leader.observe(joined(leader, 3n, standby('better', '1.35.0')))
    expect(base?.version).toBe(2n)
    expect(leader.as('leading').proposal).toEqual({ to: 'better', until: undefined })
    leader.failWrite('conflict')
    leader.passTo(2000)
    expect(leader.as('leading').proposal).toEqual({ to: 'better', until: 3000 })
  })

  test('gives a standby the time of a chosen one, also while the lease still has a request that is declined', () => {
    const leader = leading()
    const listed = joined(leader, 3n, standby('better', '1.35.0'))
    leader.observe({ ...listed, record: withRequest(listed.record, { id: 'r1', to: 'ghost' }) })
    leader.passTo(0)
    leader.acknowledge(4n)
    const { proposal } = leader.as('leading')
    expect(proposal?.to).toBe('ghost')
    leader.passTo(1999)
    leader.passTo(2000)
    leader.acknowledge(5n)
    leader.passTo(proposal?.until ?? 0)
    expect(leader.as('leading').declined).toBe('r1')
    expect(leader.as('leading').proposal).toEqual({ to: 'better', until: leader.now + 1000 })
  })

  test('takes no standby off the list to which its offer could not be written', () => {
    const leader = leading()
    leader.observe(joined(leader, 3n, standby('better', '1.35.0')))
    leader.passTo(0)
    leader.stallTo(1500)
    leader.failWrite('unreachable')
    expect(leader.as('leading').memory.missed).toBeUndefined()
    expect(leader.as('leading').proposal).toMatchObject({ to: 'better' })
  })

  test('sends nothing beside its offer when the standby leaves the list meanwhile', () => {
    const leader = leading()
    leader.observe(joined(leader, 3n, standby('better', '1.35.0')))
    leader.passTo(0)
    const { lease } = leader.as('leading').hold
    leader.observe({ ...lease, version: 5n, record: { ...lease.record, annotations: {} } })
    expect(leader.as('leading').proposal).toBeUndefined()
    expect(purposes(leader.passTo(100))).toEqual([])
    expect(leader.as('leading').hold.request.kind).toBe('writing')
  })

  test('that knows only a newer version of the strategy leaves the decision to the others', () => {
    const mine: Strategy = {
      ...strategy,
      name: 'example.com/mine',
      version: 2,
      compare: (a) => (a.identity === 'me' ? 1 : -1),
    }
    const leader = new PureElector({ strategy: mine }).lead()
    leader.observe(joined(leader, 3n, standby('old', '1.0.0', { strategy: 'example.com/mine' })))
    expect(leader.passTo(100)).toEqual([])
  })
})

describe.each<[string, Partial<ElectorConfig>]>([
  ['follows a strategy', { strategy }],
  ['is eager', { isEager: true, revision: '1' }],
  ['is about to be stopped', { leavesEarly: true, departure: 'stopping' }],
])('A leader that %s, over standbys that have crashed,', (_, config) => {
  const leaderOver = (...names: readonly string[]) => {
    const leader = new PureElector(config).lead()
    leader.send({ kind: 'wake' })
    leader.passTo(2000)
    leader.acknowledge(3n)
    const facts = config.strategy === undefined ? { strategy: undefined } : {}
    const record = names.reduce(
      (list, name) =>
        withStandby(list, standby(name, '1.35.0', { revision: '2', since: 9n, ...facts }), config.strategy),
      leader.stored(3n).record,
    )
    leader.observe({ ...leader.stored(4n), record })
    leader.passTo(2000)
    return leader
  }
  const offer = (leader: PureElector) => ({
    ...readOffer(leader.lastWrite.write.record),
    list: named(leader.stored(0n)),
  })

  test('passes them over and hands over to the next one that lives', () => {
    const leader = leaderOver('a', 'b', 'c')
    expect(offer(leader)).toEqual({ to: 'a', list: ['a', 'b', 'c'] })
    leader.acknowledge(5n)
    leader.passTo(3000)
    expect(offer(leader)).toEqual({ to: 'b', list: ['b', 'c'] })
    leader.acknowledge(6n)
    leader.passTo(4000)
    expect(offer(leader)).toEqual({ to: 'c', list: ['c'] })
    expect(leader.all('end-term')).toEqual([])
    leader.takeOffer(7n)
    expect(leader.as('draining').stepDown).toMatchObject({ reason: 'step-down', to: 'c' })
    leader.send({ kind: 'drained' })
    expect(leader.lastWrite.write).toMatchObject({ purpose: 'transfer', record: { holderIdentity: 'c' } })
  })

  test('leads on where no other one stands', () => {
    const leader = leaderOver('a')
    leader.acknowledge(5n)
    leader.passTo(3000)
    expect(offer(leader)).toEqual({ list: [] })
    leader.acknowledge(6n)
    leader.passTo(4999)
    expect(leader.as('leading').proposal).toBeUndefined()
    expect(leader.all('end-term')).toEqual([])
    expect(leader.all('write')).toHaveLength(4)
  })
})

describe('A follower that follows a strategy', () => {
  const follower = (version: string, held: PresentLease, random = 0.5) => {
    const elector = new PureElector({
      identity: 'follower',
      strategy: { ...strategy, binaryVersion: version, emulationVersion: version },
      announceAfterMs: undefined,
    })
    elector.random = random
    elector.follow(held)
    return elector
  }
  const held = () => leading().as('leading').hold.lease

  test('joins within milliseconds if it is better than the leader and all standbys', () => {
    const better = follower('1.35.0', held())
    better.passTo(5)
    expect(purposes(better.effects)).toEqual(['announce'])
    expect(readStandbys(better.lastWrite.write.record)).toMatchObject([
      { identity: 'follower', binaryVersion: '1.35.0', strategy: 'OldestEmulationVersion' },
    ])
  })

  test('does not hurry if it is not better, or if another one is as good', () => {
    const equal = follower('1.36.0', held())
    equal.passTo(100)
    expect(purposes(equal.effects)).toEqual([])
    const lease = { ...held(), record: withStandby(held().record, standby('first', '1.35.0'), strategy) }
    const second = follower('1.35.0', lease)
    second.passTo(100)
    expect(purposes(second.effects)).toEqual([])
    second.passTo(1000)
    expect(purposes(second.effects)).toEqual(['announce'])
  })

  test('hurries as soon as no other one is as good any more, whatever else is seen meanwhile', () => {
    const lease = { ...held(), record: withStandby(held().record, standby('first', '1.35.0'), strategy) }
    const second = follower('1.35.0', lease)
    second.passTo(100)
    second.observe({ ...held(), version: 6n })
    second.passTo(103)
    second.observe({ ...held(), version: 7n, record: { ...held().record, renewTime: 'later' } })
    second.passTo(104)
    expect(purposes(second.effects)).toEqual([])
    second.passTo(105)
    expect(purposes(second.effects)).toEqual(['announce'])
  })

  test('does not wait for longer when a worse one joins', () => {
    const best = follower('1.35.0', held())
    best.passTo(2)
    best.observe({ ...held(), version: 6n, record: withStandby(held().record, standby('worse', '1.36.0'), strategy) })
    best.passTo(5)
    expect(purposes(best.effects)).toEqual(['announce'])
  })

  test('displaces a worse one of three standbys, and no equal one', () => {
    const list = ['a', 'b', 'c'].reduce(
      (record, name) => withStandby(record, standby(name, '1.36.0'), strategy),
      held().record,
    )
    expect(hasRoomFor(list, standby('d', '1.36.0'), strategy)).toBe(false)
    expect(hasRoomFor(list, standby('d', '1.37.0'), strategy)).toBe(false)
    expect(hasRoomFor(list, standby('d', '1.35.0'), strategy)).toBe(true)
    const displaced = withStandby(list, standby('d', '1.35.0'), strategy)
    expect(readStandbys(displaced).map(({ identity }) => identity)).toEqual(['d', 'a', 'b'])
  })

  test('writes itself again at once when its warm-ups are ready, and after a minute when its attributes change', () => {
    const elector = follower('1.35.0', held())
    elector.config = { ...elector.config, isCold: true, attributes: { room: 1 } }
    elector.send({ kind: 'wake' })
    elector.passTo(1000)
    elector.acknowledge(3n)
    expect(readStandbys(elector.lastWrite.write.record)).toMatchObject([{ warm: false, attributes: { room: 1 } }])
    elector.config = { ...elector.config, isCold: false }
    elector.send({ kind: 'wake' })
    elector.passTo(1001)
    elector.acknowledge(4n)
    expect(purposes(elector.effects)).toEqual(['announce', 'announce'])
    expect(readStandbys(elector.lastWrite.write.record)[0]).not.toHaveProperty('warm')
    elector.config = { ...elector.config, attributes: { room: 2 } }
    const { lease } = elector.as('following').observation as { lease: PresentLease }
    elector.observe({ ...lease, version: 5n, record: { ...lease.record, renewTime: 'later' } })
    elector.passTo(12_000)
    expect(purposes(elector.effects)).toHaveLength(2)
  })

  test('tries again within milliseconds when another one was faster that is worse', () => {
    const best = follower('1.35.0', held())
    best.passTo(5)
    best.failWrite('conflict')
    best.observe({ ...held(), version: 6n, record: withStandby(held().record, standby('worse', '1.36.0'), strategy) })
    best.passTo(54)
    expect(purposes(best.effects)).toEqual(['announce'])
    best.passTo(55)
    expect(purposes(best.effects)).toEqual(['announce', 'announce'])
  })

  test('writes itself again at once, also behind a standby that is warm, when its warm-ups are ready', () => {
    const elector = follower('1.35.0', held())
    elector.config = { ...elector.config, isCold: true }
    elector.passTo(1000)
    const record = withStandby(elector.stored(3n).record, standby('warm', '1.36.0'), strategy)
    elector.failWrite('conflict')
    elector.observe({ ...elector.stored(3n), record })
    elector.config = { ...elector.config, isCold: false }
    elector.send({ kind: 'wake' })
    elector.passTo(1000)
    expect(purposes(elector.effects)).toEqual(['announce', 'announce'])
  })

  test('writes itself again at once where an earlier process of its name has other attributes', () => {
    const listed = standby('follower', '1.35.0', { attributes: { room: 1 } })
    const elector = follower('1.35.0', { ...held(), record: withStandby(held().record, listed, strategy) })
    elector.config = { ...elector.config, attributes: { room: 2 } }
    elector.send({ kind: 'wake' })
    elector.passTo(0)
    expect(purposes(elector.effects)).toEqual(['announce'])
  })

  test('stays on the list after a step-down without a cool-down, and leaves it for a cool-down or a stop', () => {
    const released = (end: (leader: PureElector) => void) => {
      const leader = new PureElector({ strategy, announceAfterMs: undefined }).lead()
      end(leader)
      leader.send({ kind: 'drained' })
      const list = named(leader.stored(3n))
      leader.acknowledge(3n)
      return { list, restsUntil: leader.state.memory.restsUntil }
    }
    const order = { kind: 'step-down', reason: 'step-down' } as const
    expect(released((leader) => leader.send({ ...order, cooldownMs: 0 }))).toEqual({ list: ['me'] })
    expect(released((leader) => leader.send({ ...order, cooldownMs: 4800 }))).toEqual({ list: [], restsUntil: 4800 })
    expect(released((leader) => leader.send({ kind: 'stop' }))).toMatchObject({ list: [] })
  })

  test('is not joining while it rests after it has stepped down, and joins when it has rested', () => {
    const elector = new PureElector({ strategy, announceAfterMs: undefined }).lead()
    elector.send({ kind: 'step-down', reason: 'step-down', cooldownMs: 4800 })
    elector.send({ kind: 'drained' })
    elector.acknowledge(3n)
    const next = { holderIdentity: 'next', acquireTime: 'later', leaseTransitions: 9 }
    const record = withStandbys({ ...held().record, ...next }, [])
    elector.observe({ ...held(), version: 4n, record })
    expect(isJoining(elector.as('following'))).toBe(false)
    elector.passTo(4799)
    expect(purposes(elector.effects)).not.toContain('announce')
    elector.passTo(6000)
    expect(purposes(elector.effects)).toContain('announce')
  })

  test('counts the minute to its next attributes from when it sent the last ones', () => {
    const elector = follower('1.35.0', held())
    elector.config = { ...elector.config, attributes: { room: 1 } }
    elector.passTo(5)
    elector.config = { ...elector.config, attributes: { room: 2 } }
    elector.passTo(900)
    elector.acknowledge(3n)
    for (let version = 4n; elector.now < 58_000; version += 1n) {
      elector.passTo(elector.now + 2000)
      elector.observe({
        ...elector.stored(version),
        record: { ...elector.stored(version).record, renewTime: `at ${elector.now}` },
      })
    }
    elector.passTo(60_004)
    expect(purposes(elector.effects)).toEqual(['announce'])
    elector.passTo(60_005)
    expect(purposes(elector.effects)).toEqual(['announce', 'announce'])
  })

  test('stays a readable list where attributes do not fit', () => {
    const attributes = { text: '\u0000'.repeat(80) }
    const list = ['a'.repeat(900), 'b'.repeat(900), 'c'.repeat(900)].reduce(
      (record, name) => withStandby(record, standby(name, '1.36.0', { attributes }), strategy),
      held().record,
    )
    expect(readStandbys(list)).toHaveLength(3)
    expect(readStandbys(list).some((listed) => listed.attributes !== undefined)).toBe(false)
  })
})
