import type { TraceLine } from '@tenure/core/internal'
import { describe, expect, test } from 'vitest'
import { resolveTimingOptions } from '../../core/src/election/timing-options.ts'
import { lease, ME } from '../../core/test/election/pure-elector.ts'
import { adds, checkEdited, checkWithLast, lastOf, linesOf } from './support/edited-trace.ts'
import { check, TracedElector } from './support/traced-elector.ts'

const FREE = lease({ version: 1n, holderIdentity: '', leaseDurationSeconds: 1 })

function following(): TracedElector {
  const follower = new TracedElector()
  follower.follow(lease({ version: 1n }))
  return follower
}

function reserving(): TracedElector {
  const elector = new TracedElector({ timing: resolveTimingOptions({ retryPeriodMs: 400, acquireDelayMs: 700 }) })
  elector.follow(FREE)
  elector.acknowledge(2n)
  elector.as('reserving')
  return elector
}

const leading = () => new TracedElector().lead()

function draining(config: ConstructorParameters<typeof TracedElector>[0] = {}): TracedElector {
  const leader = new TracedElector(config).lead()
  leader.send({ kind: 'step-down', reason: 'step-down', cooldownMs: 1000 })
  return leader
}

function aborting(): TracedElector {
  const leader = new TracedElector({ timing: resolveTimingOptions({ abortGraceMs: 0 }), onWedged: 'abandon' }).lead()
  leader.send({ kind: 'lost', reason: 'stalled' })
  leader.as('aborting')
  return leader
}

describe('The trace of a replica that is acquiring', () => {
  test('is unsound if no acquisition is on its way', () => {
    const elector = new TracedElector()
    elector.send({ kind: 'start' })
    elector.observe(FREE)
    elector.as('acquiring')
    expect(check(elector)).toEqual([])
    expect(checkWithLast(elector, (last) => void delete last.d)).toEqual([`state: ${ME} is acquiring without a write`])
  })

  test.each(['conflict', 'unknown-outcome'] as const)(
    'is unsound if the answer to its acquisition was %s',
    (failure) => {
      const elector = new TracedElector()
      elector.follow(FREE)
      elector.failWrite(failure)
      expect(check(elector)).toEqual([])
      const found = [`state: ${ME} is acquiring without a write`]
      expect(checkWithLast(elector, (last) => (last.s = 'acquiring'))).toEqual(found)
    },
  )
})

test('The trace of a replica that aborts is sound if it follows when it sees, too late, that another one has taken the lease', () => {
  const leader = aborting()
  leader.send({ kind: 'cleaning' })
  leader.stallTo(20_000)
  leader.observe(lease({ version: 9n, leaseTransitions: 5 }))
  leader.as('following')
  expect(check(leader)).toEqual([])
})

describe('The trace of a replica', () => {
  const acts = (elector: TracedElector) => linesOf(elector).flatMap((line) => ('d' in line ? (line.d ?? []) : []))

  test('is sound if a term is aborted and wedged after it has ended, and the replica stops at the end', () => {
    const leader = draining({ onWedged: 'abandon' })
    leader.send({ kind: 'stop' })
    leader.passTo(60_000)
    leader.as('stopped')
    expect(acts(leader).map(({ u }) => u)).toEqual(expect.arrayContaining(['hard-abort', 'wedged', 'stopped']))
    expect(check(leader)).toEqual([])
  })

  test.each<{ readonly u: 'hard-abort' | 'wedged'; readonly found: string }>([
    { u: 'hard-abort', found: 'state: a term is aborted that has not ended' },
    { u: 'wedged', found: 'state: a term is wedged that has not ended' },
  ])('is unsound if $u comes without a term that has ended', ({ u, found }) => {
    for (const elector of [following(), leading()])
      expect(checkWithLast(elector, (last) => adds(last, { u }))).toEqual([found])
  })

  test.each(['stopped', 'identity-taken'] as const)('is unsound if it has %s and is in another state', (u) => {
    expect(checkWithLast(following(), (last) => adds(last, { u }))).toEqual([
      `state: ${ME} has stopped and is following`,
    ])
  })

  test('is sound if its process ends with a wedged term, and unsound without one', () => {
    const leader = draining({ onWedged: 'exit' })
    leader.passTo(60_000)
    expect(acts(leader).map(({ u }) => u)).toEqual(expect.arrayContaining(['wedged', 'exit']))
    expect(check(leader)).toEqual([])
    expect(checkWithLast(leading(), (last) => adds(last, { u: 'exit' }))).toEqual([
      'state: a process ends although no term is wedged',
    ])
  })
})

type State = TraceLine['s']

/** The findings about a step that is added to a trace. */
function checkWithStep(elector: TracedElector, e: TraceLine['e'], s: State): readonly string[] {
  const lines = linesOf(elector)
  const { p, n, m, t } = lastOf(lines)
  return checkEdited([...lines, { p, n: n + 1, m, t, e, s }])
}

const ELECTORS = { reserving, draining, aborting }

/** An event in a state, and states that do or do not follow. */
interface Row<States> {
  readonly before: keyof typeof ELECTORS
  readonly event: TraceLine['e']
  readonly states: States
}

const OUT: readonly State[] = ['following', 'acquiring', 'stopped']

describe('The trace of a replica', () => {
  test.each<Row<readonly State[]>>([
    { before: 'reserving', event: 'lost', states: ['reserving', 'leading', 'releasing', 'stopped'] },
    { before: 'draining', event: 'cleaning', states: ['releasing', 'aborting', ...OUT] },
    { before: 'draining', event: 'cleanup-overdue', states: ['releasing', 'aborting'] },
    { before: 'aborting', event: 'cleaning', states: OUT },
    { before: 'aborting', event: 'drained', states: ['aborting'] },
  ])('that is $before is unsound if `$event` leads to one of $states', ({ before, event, states }) => {
    for (const state of states) {
      const found = `state: ${ME} is ${state} after \`${event}\` while ${before}`
      expect(checkWithStep(ELECTORS[before](), event, state)).toContain(found)
    }
  })

  test.each<Row<State>>([
    { before: 'reserving', event: 'lost', states: 'acquiring' },
    { before: 'draining', event: 'cleaning', states: 'draining' },
    { before: 'draining', event: 'cleanup-overdue', states: 'draining' },
    { before: 'aborting', event: 'cleaning', states: 'aborting' },
    { before: 'aborting', event: 'drained', states: 'acquiring' },
  ])('that is $before is sound if `$event` leads to $states, as it does', ({ before, event, states }) => {
    const elector = ELECTORS[before]()
    elector.send({ kind: event, reason: 'stalled' } as Parameters<TracedElector['send']>[0])
    expect(elector.state.kind).toBe(states)
    expect(check(elector)).toEqual([])
  })
})
