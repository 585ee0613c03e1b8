import { describe, expect, test } from 'vitest'
import { standingIn } from '../../src/election/candidate-standing.ts'
import type { ElectorState } from '../../src/election/machine/state.ts'
import { withStandbys } from '../../src/election/rules/standby.ts'
import { CONFIG, lease, ME, PureElector } from './pure-elector.ts'

/** Where the state says nothing else. */
function inState(kind: Exclude<ElectorState['kind'], 'following'>) {
  return standingIn({ kind } as ElectorState, CONFIG)
}

describe('A replica under a coordinator stands for election', () => {
  test.each(['acquiring', 'reserving', 'leading', 'draining'] as const)('at once while it is %s', (kind) => {
    expect(inState(kind)).toEqual({ from: 0 })
  })

  test.each(['idle', 'aborting', 'stopped'] as const)('no longer or not yet while it is %s', (kind) => {
    expect(inState(kind)).toEqual({ from: undefined })
  })

  test('as before while it releases, because its lock knows what the release means', () => {
    expect(inState('releasing')).toBe('unchanged')
  })

  test('as a follower that has seen the lease, unless it is not ready or never leads', () => {
    const elector = new PureElector()
    elector.follow(lease({ version: 1n }))
    const { notBefore } = elector.as('following')
    expect(standingIn(elector.state, CONFIG)).toEqual({ from: notBefore })
    expect(standingIn(elector.state, { ...CONFIG, isUnready: true })).toEqual({ from: undefined })
    expect(standingIn(elector.state, { ...CONFIG, neverLeads: true })).toEqual({ from: undefined })
  })

  test('no longer while it stops and has yet to leave the list of standbys', () => {
    const elector = new PureElector()
    const held = lease({ version: 1n })
    elector.follow({ ...held, record: withStandbys(held.record, [{ identity: ME, revision: undefined, since: 1n }]) })
    elector.send({ kind: 'stop' })
    expect(elector.as('following').leaveBy).toBe(1000)
    expect(standingIn(elector.state, CONFIG)).toEqual({ from: undefined })
  })

  test('not before it has seen the lease', () => {
    const elector = new PureElector()
    elector.send({ kind: 'start' })
    expect(elector.as('following').observation.kind).toBe('unknown')
    expect(standingIn(elector.state, CONFIG)).toEqual({ from: undefined })
  })
})
