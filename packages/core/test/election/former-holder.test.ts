import { describe, test } from 'vitest'
import { lease, PureElector } from './pure-elector.ts'

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
