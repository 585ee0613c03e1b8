import type { TraceLine } from '@tenure/core/internal'
import { describe, expect, test } from 'vitest'
import { checkLines } from '../../../test/traces/check-lines.ts'
import { isStep, type Lines, renumber, stepsOf } from '../../../test/traces/corruption.ts'
import { forLife } from '../../core/src/election/machine/config.ts'
import type { LeaseRecord } from '../../core/src/lock/lease-record.ts'
import { ABSENT, CONFIG, lease, ME, type PureElector } from '../../core/test/election/pure-elector.ts'
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

/** A replica that creates a lease for life after one with `last` was deleted, and acts at once. */
function createdAfter(last: Partial<LeaseRecord>, isDead: boolean): Lines {
  const elector = new TracedElector(forLife({ ...CONFIG, missingLease: undefined }))
  const held = lease({ version: 1n })
  elector.follow(held)
  const replaced = { ...held.record, ...last }
  if (isDead) {
    elector.send({ kind: 'holder-dead', holder: { identity: 'other', acquireTime: held.record.acquireTime } })
    elector.failWrite('not-found')
  } else elector.observe({ ...held, version: 2n, record: replaced })
  elector.observe({ kind: 'absent', version: 3n })
  if (!isDead && elector.lastWrite.write.base !== undefined) elector.failWrite('not-found')
  elector.answerWrite({ kind: 'written', lease: { ...elector.stored(4n), replaced } })
  elector.as('leading')
  return elector.lines.map((line) => JSON.parse(line) as Lines[number])
}

const RELEASED_AT = '2026-01-01T12:00:01.000000Z'

/** What a release changes. */
const RELEASED = { holderIdentity: '', leaseDurationSeconds: 1, acquireTime: RELEASED_AT, renewTime: RELEASED_AT }

describe('The trace of a replica that creates a lease for life and acts at once', () => {
  const { acquireTime } = lease({ version: 1n }).record

  test('is sound after a lease that was released, or whose holder is proved dead', () => {
    expect(check(createdAfter(RELEASED, false))).toEqual([])
    expect(check(createdAfter({}, true))).toEqual([])
  })

  test('is sound if the holder is proved dead after the creation, and unsound if another one is', () => {
    const elector = new TracedElector(forLife({ ...CONFIG, missingLease: undefined }))
    const { record } = lease({ version: 1n })
    elector.follow(lease({ version: 1n }))
    elector.observe({ kind: 'absent', version: 2n, deleted: record })
    elector.answerWrite({ kind: 'written', lease: { ...elector.stored(3n), replaced: record } })
    elector.passTo(500)
    elector.send({ kind: 'holder-dead', holder: { identity: 'other', acquireTime } })
    elector.as('leading')
    const lines: Lines = elector.lines.map((line) => JSON.parse(line) as Lines[number])
    expect(check(lines)).toEqual([])
    for (const { line } of stepsOf(lines)) if (line.e === 'holder-dead') line.h = 'another'
    expect(check(lines)).toEqual([`begin: ${ME} acts 14500 ms too early`])
  })

  test('is unsound if another holder came after the dead one, or somebody only cleared the holder', () => {
    const other = createdAfter({}, true)
    for (const { line } of stepsOf(other)) if (line.g !== undefined) line.g.h = 'another'
    expect(check(other)).toEqual([`begin: ${ME} acts 15000 ms too early`])
    const cleared = createdAfter(RELEASED, false)
    for (const { line } of stepsOf(cleared))
      for (const record of [line.r, line.g]) if (record?.h === '') record.a = acquireTime ?? ''
    expect(check(cleared)).toContain(`begin: ${ME} acts 15000 ms too early`)
  })
})

test('The trace of a replica that takes a lease for life at once is sound after a release, and unsound if somebody cleared the holder', () => {
  const elector = new TracedElector(forLife({ ...CONFIG, missingLease: undefined }))
  const held = lease({ version: 1n })
  elector.follow(held)
  elector.passTo(60_000)
  const released = { ...held.record, ...RELEASED }
  elector.observe({ ...held, version: 2n, record: released })
  while (elector.state.kind === 'following') elector.passTo(elector.now + 250)
  elector.acknowledge(3n)
  const lines: Lines = elector.lines.map((line) => JSON.parse(line) as Lines[number])
  expect(check(structuredClone(lines))).toEqual([])
  for (const { line } of stepsOf(lines))
    if (line.r?.h === '') Object.assign(line.r, { a: held.record.acquireTime, r: held.record.renewTime })
  expect(check(lines)).toContainEqual(
    expect.stringMatching(/^wait: me takes a released lease \d+(\.\d+)? ms too early$/),
  )
})

test('The trace of a replica that acquires the version of its own announcement is sound if that is above the least epoch', () => {
  const elector = new TracedElector({ announceAfterMs: 0 })
  elector.follow(lease({ version: 11n, annotations: { 'tenure.dev/least-epoch': '12' } }))
  while (elector.all('write').length === 0) elector.passTo(elector.now + 250)
  expect(elector.lastWrite.write.purpose).toBe('announce')
  elector.acknowledge(12n)
  while (elector.lastWrite.write.purpose === 'announce') elector.passTo(elector.now + 250)
  expect(elector.lastWrite.write.base?.version).toBe(12n)
  elector.acknowledge(13n)
  elector.as('leading')
  expect(check(elector.lines.map((line) => JSON.parse(line) as Lines[number]))).toEqual([])
})

test('The trace of a replica that takes its own release at once is sound if somebody has edited the duration since', () => {
  const elector = new TracedElector(forLife({ ...CONFIG, missingLease: undefined }))
  elector.lead()
  elector.send({ kind: 'step-down', reason: 'step-down', cooldownMs: 1000 })
  elector.send({ kind: 'drained' })
  const released = elector.stored(4n)
  elector.acknowledge(3n)
  elector.observe({ ...released, record: { ...released.record, leaseDurationSeconds: 9 } })
  while (elector.lastWrite.write.purpose !== 'acquire') elector.passTo(elector.now + 250)
  elector.acknowledge(5n)
  elector.as('leading')
  const lines: Lines = elector.lines.map((line) => JSON.parse(line) as Lines[number])
  expect(check(structuredClone(lines))).toEqual([])
  for (const { line } of stepsOf(lines))
    if (line.v === 4 && line.r !== undefined) line.r.r = '2026-01-01T13:00:00.000000Z'
  expect(check(lines)).toContainEqual(
    expect.stringMatching(/^wait: me takes a released lease \d+(\.\d+)? ms too early$/),
  )
})

test('The trace of a leader for life whose offer does not change the renew time is unsound', () => {
  const elector = new TracedElector(forLife({ ...CONFIG, missingLease: undefined }))
  elector.lead()
  elector.send({ kind: 'step-down', reason: 'step-down', cooldownMs: 0 })
  elector.passTo(1000)
  const lines: Lines = elector.lines.map((line) => JSON.parse(line) as Lines[number])
  expect(check(structuredClone(lines))).toEqual([])
  const acts = stepsOf(lines).flatMap(({ line }) => line.d ?? [])
  for (const act of acts) if (act.u === 'renew') Object.assign(act.r, { r: act.r.a })
  expect(check(lines)).toEqual(['write: a renewal does not change the renew time'])
})

test('The trace of a leader for life is sound if a check finds an earlier record of its term after a restore, and unsound if it finds another term', () => {
  const elector = new TracedElector(forLife({ ...CONFIG, missingLease: undefined }))
  elector.lead()
  const acquired = elector.stored(2n)
  elector.config = { ...elector.config, processRef: 'process' }
  elector.passTo(elector.now + 2500)
  elector.acknowledge(3n)
  const { renewTime } = elector.stored(3n).record
  expect(renewTime).not.toBe(acquired.record.renewTime)
  elector.passTo(elector.now + 2500)
  elector.answerWrite({ kind: 'written', lease: acquired })
  const lines: Lines = elector.lines.map((line) => JSON.parse(line) as Lines[number])
  expect(check(structuredClone(lines))).toEqual([])
  const [last] = stepsOf(lines).slice(-1)
  Object.assign(last?.line.r ?? {}, { a: RELEASED_AT })
  expect(check(lines)).toContainEqual(expect.stringMatching(/another record than the write/))
})

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

  test('is sound if it saw the deletion of an expired lease, and unsound if its watch was disconnected then', () => {
    const elector = new TracedElector({ coordination: 'server' })
    elector.follow(lease({ version: 4n }))
    elector.passTo(60_000)
    elector.send({ kind: 'watch-up' })
    elector.observe({ kind: 'absent', version: 5n })
    elector.observe({ ...named(undefined), version: 6n })
    elector.acknowledge(7n)
    elector.as('leading')
    const lines: Lines = elector.lines.map((line) => JSON.parse(line) as Lines[number])
    expect(check(structuredClone(lines))).toEqual([])
    const up = stepsOf(lines).findLast(({ line }) => line.e === 'watch-up')
    if (up !== undefined) up.line.e = 'watch-down'
    const named6 = stepsOf(lines).find(({ line }) => line.v === 6)
    lines.splice(named6?.index ?? 0, 0, { ...up?.line, e: 'watch-up', m: 60_000, t: 60_000 } as Lines[number])
    expect(check(lines)).toEqual([`begin: ${ME} acts 15000 ms too early`])
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

test('The trace of a former leader that a coordinator names at once is sound if its watch was up, and unsound if a transition was missed', () => {
  const elector = new TracedElector({ coordination: 'peers' })
  elector.lead()
  elector.config = { ...elector.config, coordination: 'server' }
  elector.stallTo(5000)
  elector.observe(named(elector.lastWrite.write.record.leaseTransitions))
  elector.send({ kind: 'drained' })
  elector.acknowledge(6n)
  elector.as('leading')
  const lines = elector.lines.map((line) => JSON.parse(line) as Lines[number])
  expect(check(structuredClone(lines))).toEqual([])
  for (const { line } of stepsOf(lines)) if (line.v === 5 && line.r !== undefined) line.r.n = (line.r.n ?? 0) + 1
  expect(check(lines)).toContain(`begin: ${ME} acts 15000 ms too early`)
})

test('The trace of a replica that stops is sound if it releases a lease that it has just acquired again, in the same second', () => {
  const elector = new TracedElector()
  elector.lead()
  elector.send({ kind: 'lost', reason: 'stalled' })
  elector.send({ kind: 'drained' })
  elector.send({ kind: 'stop' })
  elector.acknowledge(3n)
  elector.as('releasing')
  expect(check(elector.lines.map((line) => JSON.parse(line) as Lines[number]))).toEqual([])
})

describe('The trace of a replica that follows although it has created the lease a moment ago is sound', () => {
  const linesOf = (elector: TracedElector): Lines => elector.lines.map((line) => JSON.parse(line) as Lines[number])

  test('if it learned meanwhile that an earlier creation had happened: it has forgotten this one', () => {
    const elector = new TracedElector()
    elector.follow({ kind: 'absent', version: 1n })
    const earlier = elector.stored(2n)
    while (elector.now < CONFIG.timing.renewDeadlineMs || elector.state.kind !== 'acquiring') {
      if (elector.state.kind === 'acquiring') elector.failWrite('unknown-outcome')
      else if (elector.as('following').reading !== undefined) elector.answerRead({ kind: 'absent', version: 1n })
      else elector.passTo(elector.now + 250)
    }
    const later = elector.stored(4n)
    // It reads after that, and creates nothing before the answer.
    elector.send({ kind: 'watch-down' })
    elector.observe(earlier)
    elector.observe({ kind: 'absent', version: 3n })
    elector.observe(later)
    elector.as('following')
    expect(check(linesOf(elector))).toEqual([])
  })

  test('if it saw the lease of another replica meanwhile: it takes the creation for refused', () => {
    const elector = new TracedElector()
    elector.follow({ kind: 'absent', version: 1n })
    const created = elector.stored(4n)
    elector.send({ kind: 'watch-down' })
    elector.failWrite('unknown-outcome')
    elector.observe(lease({ version: 2n }))
    elector.observe({ kind: 'absent', version: 3n })
    elector.observe(created)
    elector.as('following')
    expect(check(linesOf(elector))).toEqual([])
  })
})
