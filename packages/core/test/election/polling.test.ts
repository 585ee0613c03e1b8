import { describe, expect, test } from 'vitest'
import { withOffer } from '../../src/election/rules/transfer-notes.ts'
import { kept, ListFollower } from './list-follower.ts'
import { failed, kinds, lease, ME, purposes, PureElector } from './pure-elector.ts'

/** A follower whose watch is connected, and whose write to take a free lease was refused, because another replica was faster. */
function defeated(): PureElector {
  const elector = new PureElector()
  elector.follow(lease({ version: 1n, holderIdentity: '' }))
  elector.failWrite('conflict')
  elector.as('following')
  return elector
}

describe('A follower reads the lease', () => {
  test('if a watch that has connected shows nothing in time', () => {
    const elector = new PureElector()
    elector.send({ kind: 'start' })
    elector.send({ kind: 'watch-up' })
    expect(kinds(elector.passTo(2499))).toEqual([])
    expect(kinds(elector.passTo(2500))).toEqual(['read'])
  })

  test('if a watch that has shown the lease does not connect in time', () => {
    const elector = new PureElector()
    elector.send({ kind: 'start' })
    elector.observe(lease({ version: 1n }))
    expect(kinds(elector.passTo(2499))).toEqual([])
    expect(kinds(elector.passTo(2500))).toEqual(['read'])
  })

  test('for as long as a write of its own may have succeeded, also when the watch has connected again', () => {
    const elector = new PureElector()
    const free = lease({ version: 1n, holderIdentity: '' })
    elector.follow(free)
    expect(kinds(elector.failWrite('unknown-outcome'))).toEqual(['request-failed', 'read'])
    elector.answerRead(free)
    elector.send({ kind: 'watch-up' })
    expect(kinds(elector.passTo(499))).toEqual([])
    expect(kinds(elector.passTo(500))).toEqual(['read'])
  })

  test('after a defeat of which the watch shows nothing, also when the watch has connected again', () => {
    const elector = defeated()
    elector.send({ kind: 'watch-up' })
    expect(kinds(elector.passTo(249))).toEqual([])
    expect(kinds(elector.passTo(250))).toEqual(['read'])
  })

  test('again soon where it does not find out after a defeat who was faster', () => {
    const elector = defeated()
    elector.passTo(250)
    elector.failRead('unreachable')
    expect(kinds(elector.passTo(749))).toEqual([])
    expect(kinds(elector.passTo(750))).toEqual(['read'])
  })

  test('again after a read that failed, although the watch shows the lease', () => {
    const elector = new PureElector()
    elector.send({ kind: 'start' })
    elector.passTo(2500)
    elector.observe(lease({ version: 1n }))
    elector.send({ kind: 'watch-up' })
    elector.failRead('unreachable')
    expect(kinds(elector.passTo(4499))).toEqual([])
    expect(kinds(elector.passTo(4500))).toEqual(['read'])
  })

  test('earlier than planned when the watch shows an older version than before', () => {
    const elector = new PureElector()
    elector.follow(lease({ version: 5n }))
    elector.send({ kind: 'watch-down' })
    elector.answerRead(lease({ version: 5n }))
    elector.observe(lease({ version: 4n }))
    expect(kinds(elector.passTo(499))).toEqual([])
    expect(kinds(elector.passTo(500))).toEqual(['read'])
  })

  test('at once where its watch is disconnected as its term ends, and not where it is connected', () => {
    const readsAfter = (...events: readonly ('watch-down' | 'watch-up')[]) => {
      const leader = new PureElector().lead()
      for (const kind of events) leader.send({ kind })
      leader.observe(lease({ version: 3n }))
      return kinds(leader.send({ kind: 'drained' })).filter((kind) => kind === 'read')
    }
    expect(readsAfter('watch-down')).toEqual(['read'])
    expect(readsAfter('watch-down', 'watch-up')).toEqual([])
  })
})

describe('A follower', () => {
  test('takes a lease that it finds free in another version after a defeat, without a pause', () => {
    const elector = defeated()
    elector.passTo(250)
    elector.answerRead(lease({ version: 3n, holderIdentity: '', acquireTime: '2026-01-01T11:30:00.000000Z' }))
    elector.passTo(400)
    expect(elector.lastWrite.write).toMatchObject({ purpose: 'acquire', base: { version: 3n } })
  })

  test('ignores the answers to requests that it does not wait for', () => {
    const elector = new PureElector()
    elector.follow(lease({ version: 1n }))
    const { state } = elector
    expect(elector.send({ kind: 'read-answer', request: 77, result: failed('unreachable') })).toEqual([])
    expect(elector.answerWrite(failed('unreachable'), 77)).toEqual([])
    expect(elector.state).toEqual(state)
  })

  test.each([
    ['offered', withOffer(kept(), { to: undefined }), 'answer'],
    [
      'released',
      { ...kept(), holderIdentity: '', leaseDurationSeconds: 1, acquireTime: 'now', renewTime: 'now' },
      'acquire',
    ],
  ])(
    'knows that the lease is %s although the answer to an earlier write of its own comes after that, and does not read',
    (_, record, purpose) => {
      const follower = new ListFollower(kept())
      expect(purposes(follower.passTo(750))).toEqual(['announce'])
      const { request } = follower.lastWrite
      const written = follower.stored(2n)
      follower.observe(written)
      follower.observe({ ...written, version: 3n, record })
      follower.answerWrite({ kind: 'written', lease: written }, request)
      expect(kinds(follower.passTo(900))).not.toContain('read')
      expect(follower.lastWrite.write).toMatchObject({ purpose, base: { version: 3n } })
    },
  )

  test('takes no proof of death for one of a term that it has not seen', () => {
    const elector = new PureElector()
    const acquireTime = '2026-01-01T11:30:00.000000Z'
    elector.follow(lease({ version: 1n }))
    elector.send({ kind: 'holder-dead', holder: { identity: 'third', acquireTime } })
    elector.observe(lease({ version: 2n, holderIdentity: 'third', acquireTime }))
    expect(purposes(elector.passTo(14_999))).toEqual([])
    expect(purposes(elector.passTo(15_000))).toEqual(['acquire'])
  })
})

describe('A follower that rests after it has stepped down', () => {
  const resting = (cooldownMs: number): PureElector => {
    const elector = new PureElector().lead()
    elector.send({ kind: 'step-down', reason: 'step-down', cooldownMs })
    elector.send({ kind: 'drained' })
    elector.acknowledge(3n)
    return elector
  }

  test('rests on when somebody edits the free lease', () => {
    const elector = resting(4800)
    const free = elector.stored(4n)
    elector.observe({ ...free, record: { ...free.record, leaseTransitions: 9 } })
    expect(purposes(elector.passTo(4799))).toEqual([])
    expect(purposes(elector.passTo(5800))).toEqual(['acquire'])
  })

  test('rests on when a lease shows up that names it and that it did not write', () => {
    const elector = resting(60_000)
    elector.observe(lease({ version: 4n, holderIdentity: ME }))
    expect(purposes(elector.passTo(59_999))).toEqual([])
    expect(purposes(elector.passTo(60_000))).toEqual(['acquire'])
  })

  test('does not take itself for a second process where a coordinator names it', () => {
    const elector = resting(60_000)
    const named = { holderIdentity: ME, acquireTime: undefined }
    elector.observe(lease({ version: 4n, ...named, renewTime: '2026-01-01T12:10:00.000000Z' }))
    elector.observe(lease({ version: 5n, ...named, renewTime: '2026-01-01T12:10:02.000000Z' }))
    expect(elector.state.kind).toBe('following')
  })
})
