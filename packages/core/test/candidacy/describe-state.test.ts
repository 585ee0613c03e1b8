import { describe, expect, test } from 'vitest'
import { describeState, isSameState } from '../../src/candidacy/describe-state.ts'
import type { CandidacyState } from '../../src/candidacy/events.ts'
import type { TermControllers } from '../../src/candidacy/term-controllers.ts'
import { WedgedError } from '../../src/candidacy/wedged-error.ts'
import { resolveTimingOptions } from '../../src/election/timing-options.ts'
import { lease, PureElector } from '../election/pure-elector.ts'

const FREE = lease({ version: 1n, holderIdentity: '' })
const TASKS = [{ name: 'a', controller: 'b', ageMs: 1, spawnedAt: 'a.ts:1:1', waitsOn: undefined }]
const wedged = new WedgedError('The term', TASKS)

const following = (): PureElector => {
  const elector = new PureElector()
  elector.follow(lease({ version: 1n }))
  return elector
}
const acquiring = (elector = new PureElector()): PureElector => (elector.follow(FREE), elector)
const reserving = (): PureElector => {
  const elector = acquiring(new PureElector({ timing: resolveTimingOptions({ acquireDelayMs: 3000 }) }))
  elector.acknowledge(2n)
  elector.as('reserving')
  return elector
}
const ending = (...events: readonly ('drained' | 'lost')[]): PureElector => {
  const elector = new PureElector().lead()
  if (events[0] === 'lost') elector.send({ kind: 'lost', reason: 'stalled' })
  else elector.send({ kind: 'step-down', reason: 'step-down', cooldownMs: 0 })
  if (events[0] === 'drained') elector.send({ kind: 'drained' })
  return elector
}
const stopped = (): PureElector => {
  const elector = new PureElector()
  elector.send({ kind: 'stop' })
  return elector
}

describe('The state of a candidacy', () => {
  test.each<[string, PureElector, Partial<TermControllers> | undefined, CandidacyState]>([
    ['has not started', new PureElector(), undefined, { kind: 'idle' }],
    ['follows', following(), undefined, { kind: 'following', observedLeader: 'other' }],
    ['acquires', acquiring(), undefined, { kind: 'acquiring' }],
    ['must not act yet', reserving(), undefined, { kind: 'acquiring' }],
    ['leads', new PureElector().lead(), undefined, { kind: 'leading', epoch: 2n }],
    ['drains', ending(), { endReason: 'transferred' }, { kind: 'draining', epoch: 2n, reason: 'transferred' }],
    ['drains without controllers', ending(), undefined, { kind: 'draining', epoch: 2n, reason: 'step-down' }],
    ['has lost its term', ending('lost'), { endReason: 'stalled' }, { kind: 'draining', epoch: 2n, reason: 'stalled' }],
    ['is wedged', ending(), { wedged, endReason: 'step-down' }, { kind: 'wedged', epoch: 2n, tasks: TASKS }],
    ['releases the lease', ending('drained'), undefined, { kind: 'releasing', epoch: 2n }],
    ['has stopped', stopped(), undefined, { kind: 'stopped' }],
  ])('of an elector that %s', (_, { state }, controllers, expected) => {
    expect(describeState(state, controllers as TermControllers | undefined)).toEqual(expected)
  })

  test('is the same where all of it is', () => {
    const leading = { kind: 'leading', epoch: 2n } as const
    expect(isSameState(leading, { ...leading })).toBe(true)
    expect(isSameState(leading, { ...leading, epoch: 3n })).toBe(false)
    expect(isSameState(leading, { kind: 'releasing', epoch: 2n })).toBe(false)
    expect(isSameState({ kind: 'idle' }, { kind: 'stopped' })).toBe(false)
    expect(
      isSameState({ kind: 'following', observedLeader: 'a' }, { kind: 'following', observedLeader: undefined }),
    ).toBe(false)
  })
})
