import { describe, expect, test } from 'vitest'
import type { LockSnapshot, PresentLease } from '../../src/lock/lock.ts'
import { lease, ME, PureElector } from './pure-elector.ts'

const ACQUIRED_AT = '2026-01-01T12:00:01.000000Z'
const RENEWED_AT = '2026-01-01T12:00:03.000000Z'

/** The lease of another holder, who acquired it after this replica, and has renewed it since. */
const renewed = { holderIdentity: 'other', acquireTime: ACQUIRED_AT, renewTime: RENEWED_AT, leaseTransitions: 4 }

/** A former leader, and a replica that held the lease and did not act yet. */
const HOLDERS = [
  ['leader', () => new PureElector().lead()],
  [
    'holder that has not acted yet',
    () => {
      const elector = new PureElector({ missingLease: 'wait' })
      elector.follow({ kind: 'absent', version: 1n })
      elector.acknowledge(2n)
      elector.as('reserving')
      return elector
    },
  ],
] as const

/** Sees this lease in place of its own at 5 s, with nothing left of its term, and a cleared holder a second later. */
function clearedAfter(elector: PureElector, seen: typeof renewed, version = 9n): PureElector {
  elector.stallTo(5000)
  elector.observe(lease({ version, ...seen }))
  if (elector.state.kind === 'aborting') elector.send({ kind: 'drained' })
  elector.as('following')
  elector.passTo(6000)
  elector.observe(lease({ version: version + 1n, ...seen, holderIdentity: '' }))
  return elector
}

describe.each(HOLDERS)('A former %s that sees the lease of another holder', (_, held) => {
  test('of whose term it saw nothing protects that holder for a lease duration, also if somebody then clears it', () => {
    const elector = clearedAfter(held(), renewed)
    elector.passTo(19_999)
    elector.as('following')
    elector.passTo(21_000)
    elector.as('acquiring')
  })

  test('as that holder began its term takes the lease soon after somebody clears it, if it states a short duration', () => {
    const begun = { ...renewed, renewTime: ACQUIRED_AT, leaseDurationSeconds: 2 }
    const elector = clearedAfter(held(), begun)
    elector.passTo(8000)
    elector.as('acquiring')
  })

  test('that an earlier backup of the store holds takes the lease soon after somebody clears it: that holder ended before', () => {
    const elector = held()
    elector.stallTo(1900)
    elector.passTo(2100)
    elector.failWrite('conflict')
    elector.answerRead(lease({ version: 1n, ...renewed }))
    if (elector.state.kind === 'aborting') elector.send({ kind: 'drained' })
    elector.as('following')
    elector.observe(lease({ version: 2n, ...renewed, holderIdentity: '' }))
    elector.passTo(5000)
    elector.as('acquiring')
  })
})

describe.each(HOLDERS)('A former %s that a coordinator names', (_, held) => {
  /** The lease names this replica. */
  const named = (leaseTransitions: number | undefined): PresentLease =>
    lease({ version: 9n, holderIdentity: ME, leaseDurationSeconds: 5, acquireTime: undefined, leaseTransitions })

  const transitions = (elector: PureElector): number => elector.lastWrite.write.record.leaseTransitions ?? 0

  /** When it may act if it sees the lease in these steps at 5 s, each after the end of its own term. */
  function actsAt(elector: PureElector, steps: readonly (LockSnapshot | 'watch-up' | 'watch-down')[]): number {
    elector.config = { ...elector.config, coordination: 'server' }
    elector.stallTo(5000)
    for (const step of steps) {
      if (typeof step === 'string') elector.send({ kind: step })
      else elector.observe(step)
      if (elector.state.kind === 'aborting') elector.send({ kind: 'drained' })
      if (typeof step === 'object' && elector.state.kind === 'following') elector.answerRead(step)
    }
    elector.acknowledge(10n)
    return elector.state.kind === 'reserving' ? elector.state.actAt : elector.now
  }

  test('protects a holder that came and went unseen, for a lease duration', () => {
    const elector = held()
    expect(actsAt(elector, [named(transitions(elector) + 1)])).toBe(20_000)
  })

  test('protects a holder that may have come while the watch was disconnected', () => {
    const elector = held()
    expect(actsAt(elector, ['watch-down', named(transitions(elector))])).toBe(20_000)
  })

  test('protects a holder whose lease may have been deleted unseen', () => {
    const steps = ['watch-down', { kind: 'absent', version: 8n }, 'watch-up', named(undefined)] as const
    expect(actsAt(held(), steps)).toBe(20_000)
  })
})

test('A former leader that a coordinator names at once waits for nobody: its watch shows that nobody came', () => {
  const elector = new PureElector().lead()
  elector.config = { ...elector.config, coordination: 'server' }
  const { leaseTransitions } = elector.lastWrite.write.record
  elector.stallTo(5000)
  elector.observe(lease({ version: 9n, holderIdentity: ME, acquireTime: undefined, leaseTransitions }))
  elector.send({ kind: 'drained' })
  elector.acknowledge(10n)
  elector.as('leading')
})

test('A replica that creates a deleted lease for life waits for the longest duration that it has seen, also in the view that ended its own term', () => {
  const elector = new PureElector({ heldForLife: true, missingLease: 'wait' })
  elector.follow(lease({ version: 1n, holderIdentity: '', leaseDurationSeconds: 1 }))
  elector.acknowledge(2n)
  elector.as('leading')
  elector.stallTo(5000)
  elector.observe(lease({ version: 3n, leaseDurationSeconds: 60 }))
  elector.send({ kind: 'drained' })
  elector.observe({ kind: 'absent', version: 4n })
  elector.passTo(6000)
  elector.acknowledge(5n)
  elector.observe({ kind: 'absent', version: 6n })
  elector.passTo(8000)
  elector.acknowledge(7n)
  expect(elector.as('reserving').actAt).toBeGreaterThan(67_000)
})
