import { describe, expect, test } from 'vitest'
import { type Lines, stepsOf } from '../../../test/traces/corruption.ts'
import { forLife } from '../../core/src/election/machine/config.ts'
import { CONFIG, lease, ME } from '../../core/test/election/pure-elector.ts'
import { checkEdited as check, linesOf } from './support/edited-trace.ts'
import { checkRestored, TracedElector } from './support/traced-elector.ts'

const ACQUIRED_AT = lease({ version: 1n }).record.acquireTime ?? ''

/** A replica that takes the lease of another one, whose record states one second, as soon as it may. */
function takesShort(renewTime: string): TracedElector {
  const elector = new TracedElector()
  elector.follow(lease({ version: 1n, leaseDurationSeconds: 1, renewTime }))
  while (elector.state.kind === 'following') elector.passTo(elector.now + 250)
  elector.acknowledge(2n)
  elector.as('leading')
  return elector
}

describe('The trace of a replica that sees nothing of a term but a record with a short duration', () => {
  test('is sound if it obeys the record as the holder began the term with it', () => {
    const elector = takesShort(ACQUIRED_AT)
    expect(elector.now).toBeLessThan(5000)
    expect(check(linesOf(elector))).toEqual([])
  })

  test('is sound if it waits for its own duration after a renewal, and unsound if it obeys the record', () => {
    const renewedAt = '2026-01-01T11:59:59.000000Z'
    expect(check(linesOf(takesShort(renewedAt)))).toEqual([])
    const obedient = linesOf(takesShort(ACQUIRED_AT))
    for (const { line } of stepsOf(obedient)) if (line.r?.h === 'other') line.r.r = renewedAt
    expect(check(obedient)).toContainEqual(
      expect.stringMatching(/^wait: me takes the lease of other 1\d{4}(\.\d+)? ms too early$/),
    )
  })
})

test('The trace of a replica that creates a lease for life is unsound if it does not wait for the longest holder that it saw', () => {
  const elector = new TracedElector(forLife({ ...CONFIG, missingLease: undefined }))
  elector.follow(lease({ version: 1n }))
  elector.observe({ kind: 'absent', version: 2n })
  elector.acknowledge(3n)
  for (let version = 4n; elector.state.kind !== 'leading'; version += 1n) {
    const { request } = elector.lastWrite
    elector.passTo(elector.now + 250)
    if (elector.lastWrite.request !== request) elector.answerWrite({ kind: 'written', lease: elector.stored(3n) })
  }
  const lines = linesOf(elector)
  expect(check(lines)).toEqual([])
  for (const { line } of stepsOf(lines)) if (line.r?.h === 'other') line.r.d = 60
  expect(check(lines)).toContainEqual(expect.stringMatching(/^begin: me acts 4\d{4}(\.\d+)? ms too early$/))
})

test('The trace of a leader is sound if it learns of a renewal from a record in which somebody has shortened the duration since', () => {
  const elector = new TracedElector()
  elector.lead()
  elector.passTo(elector.now + CONFIG.timing.retryPeriodMs)
  const renewed = elector.stored(4n)
  elector.observe({ ...renewed, record: { ...renewed.record, leaseDurationSeconds: 1 } })
  const lines = linesOf(elector)
  expect(
    stepsOf(lines)
      .at(-1)
      ?.line.d?.map(({ u }) => u),
  ).toEqual(['until', 'until'])
  expect(check(lines)).toEqual([])
})

describe('The trace of a replica whose acquisition got no answer', () => {
  /** It learns from the watch, so long after the send, that the acquisition has happened. */
  function sees(afterMs: number): Lines {
    const elector = new TracedElector()
    elector.follow(lease({ version: 1n, holderIdentity: '' }))
    const stored = elector.stored(2n)
    elector.passTo(elector.now + 10)
    elector.failWrite('unknown-outcome')
    elector.stallTo(elector.now + afterMs)
    elector.observe(stored)
    elector.as('leading')
    return linesOf(elector)
  }

  /** As if it took the lease for that of somebody else. */
  function ignores(lines: Lines): Lines {
    const { line } = stepsOf(lines).at(-1) ?? {}
    if (line?.s !== 'leading') throw new Error('The replica does not lead')
    line.s = 'following'
    delete line.d
    return lines
  }

  test('is unsound if it goes on to follow although it sees soon that it holds the lease', () => {
    expect(check(sees(20))).toEqual([])
    expect(check(ignores(sees(20)))).toEqual([
      `state: ${ME} is following although its acquisition is known to have happened`,
    ])
  })

  test('is sound if it declines the lease because that takes longer than a request', () => {
    expect(check(ignores(sees(CONFIG.timing.requestTimeoutMs)))).toEqual([])
  })
})

/** The trace of a leader that has renewed once, from the moment at which it acquires the lease. */
function renewedOnce(): Lines {
  const elector = new TracedElector()
  elector.follow({ kind: 'absent', version: 1n })
  elector.acknowledge(2n)
  elector.as('leading')
  const { request } = elector.lastWrite
  while (elector.lastWrite.request === request) elector.passTo(elector.now + 250)
  elector.acknowledge(3n)
  return linesOf(elector)
}

describe('The trace of a leader', () => {
  test('is unsound if it sends a write before the last one is answered', () => {
    const lines = renewedOnce()
    expect(check(lines)).toEqual([])
    const renewal = stepsOf(lines).findLast(({ line }) => line.d?.some(({ u }) => u === 'renew'))?.line
    const [write] = renewal?.d ?? []
    if (renewal === undefined || write?.u !== 'renew') throw new Error('Expected a renewal')
    renewal.d = [write, { ...write, q: write.q + 1 }]
    expect(check(lines)).toContainEqual(`request: a renewal is sent before the answer to the write ${write.q}`)
  })

  test('is unsound if the state after an event is none that the event can lead to', () => {
    const lines = renewedOnce()
    const last = stepsOf(lines).findLast(({ line }) => line.e === 'wake')?.line
    if (last === undefined) throw new Error('Expected a wake')
    last.s = 'following'
    expect(check(lines)).toContainEqual('state: me is following after `wake` while leading')
  })

  test('is unsound if its lease was missing between two of its renewals', () => {
    const lines = renewedOnce()
    const [header] = lines
    if (header === undefined) throw new Error('Expected a header')
    const at = { p: 2, m: 5000, t: 5000 } as const
    const other: Lines = [
      { ...header, elector: 2, identity: 'other' },
      { ...at, n: 1, e: 'start', s: 'following' },
      { ...at, n: 2, e: 'observed', s: 'following', v: 2 },
    ]
    expect(check([...lines, ...other])).toEqual([
      'store: the lease is missing at version 2, but version 2 of it became 3',
    ])
    expect(check([...other, ...lines])).toEqual([
      'store: the lease is missing at version 2, but version 2 of it became 3',
    ])
  })
})

describe('The trace of a replica whose store is restored is sound', () => {
  test('if it is a follower whose announcement is answered after it sees the restored store', () => {
    const elector = new TracedElector({ announceAfterMs: 500 })
    elector.follow(lease({ version: 9n }))
    elector.passTo(500)
    expect(elector.lastWrite.write.purpose).toBe('announce')
    elector.observe(lease({ version: 9n, holderIdentity: 'another' }))
    elector.answerWrite({ kind: 'written', lease: elector.stored(10n) })
    expect(checkRestored(elector)).toEqual([])
  })

  test('if it led, and takes the lease again as soon as its term is over: nobody else can have led', () => {
    const elector = new TracedElector().lead(9n)
    elector.passTo(5000)
    elector.failWrite('conflict')
    elector.answerRead(lease({ version: 4n, holderIdentity: '', leaseDurationSeconds: 1 }))
    elector.send({ kind: 'drained' })
    elector.acknowledge(5n)
    elector.as('leading')
    expect(checkRestored(elector)).toEqual([])
  })
})
