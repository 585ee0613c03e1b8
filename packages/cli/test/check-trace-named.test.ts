import type { TraceLine } from '@tenure/core/internal'
import { describe, expect, test } from 'vitest'
import { checkLines } from '../../../test/traces/check-lines.ts'
import { isStep, type Lines, renumber, stepsOf } from '../../../test/traces/corruption.ts'
import { ABSENT, lease, ME, type PureElector } from '../../core/test/election/pure-elector.ts'
import { TracedElector } from './support/traced-elector.ts'

/** The lease as the controller of the API server names a holder. */
const named = (leaseTransitions: number | undefined) =>
  lease({ version: 5n, holderIdentity: ME, leaseDurationSeconds: 5, acquireTime: undefined, leaseTransitions })

/** A replica that sees `first`, is named a second later, and acts as soon as it may. */
function namedAfter(first: Parameters<PureElector['observe']>[0]): { readonly lines: Lines; readonly actedAt: number } {
  const elector = new TracedElector({ coordination: 'server' })
  elector.follow(first)
  elector.passTo(1000)
  elector.observe(named(first.kind === 'present' ? first.record.leaseTransitions : undefined))
  elector.acknowledge(6n)
  for (let version = 7n; elector.state.kind !== 'leading'; version += 1n) {
    const { request } = elector.lastWrite
    elector.passTo(elector.now + 250)
    if (elector.lastWrite.request !== request) elector.acknowledge(version)
  }
  const lines = elector.lines.map((line) => JSON.parse(line) as Lines[number])
  return { lines, actedAt: elector.now }
}

function check(lines: Lines): readonly string[] {
  renumber(lines)
  const { findings } = checkLines(
    'named.trace',
    lines.map((line) => JSON.stringify(line)),
  )
  return findings.map(({ rule, message }) => `${rule}: ${message}`)
}

const without = (lines: Lines, event: TraceLine['e']): Lines =>
  lines.filter((line) => !isStep(line) || line.e !== event)

const FREE = [
  { what: 'did not exist', first: { ...ABSENT, version: 4n } },
  { what: 'was free', first: lease({ version: 4n, holderIdentity: '' }) },
] as const

describe('The trace of a replica that a coordinator names', () => {
  test.each(FREE)('is sound if the lease $what and the replica saw every version: it acts at once', ({ first }) => {
    const { lines, actedAt } = namedAfter(first)
    expect(actedAt).toBe(1000)
    expect(check(lines)).toEqual([])
  })

  test.each(FREE)('is unsound if the lease $what and the replica acts at once without a watch', ({ first }) => {
    const { lines } = namedAfter(first)
    expect(check(without(lines, 'watch-up'))).toEqual([`begin: ${ME} acts 15000 ms too early`])
  })

  test.each(FREE)('is unsound if the lease $what and a transition was missed', ({ first }) => {
    const { lines } = namedAfter(first)
    for (const { line } of stepsOf(lines)) if (line.v === 5 && line.r !== undefined) line.r.n = (line.r.n ?? 0) + 1
    expect(check(lines)).toContain(`begin: ${ME} acts 15000 ms too early`)
  })

  test('is sound if it waits for the holder of before, and unsound if it does not', () => {
    const { lines, actedAt } = namedAfter(lease({ version: 4n }))
    expect(actedAt).toBeGreaterThanOrEqual(15_000)
    expect(check(structuredClone(lines))).toEqual([])
    const acquired = stepsOf(lines).find(({ line }) => line.s === 'reserving')
    if (acquired === undefined) throw new Error('The replica did not wait')
    acquired.line.s = 'leading'
    acquired.line.d = [{ u: 'begin', k: 6, until: acquired.line.t + 10_000 }]
    const early = lines.slice(0, acquired.index + 1)
    expect(check(early)).toEqual([`begin: ${ME} acts 14000 ms too early`])
  })
})
