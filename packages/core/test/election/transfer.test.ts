import { describe, expect, test } from 'vitest'
import type { LeaseRecord } from '../../src/lock/lease-record.ts'
import type { PresentLease } from '../../src/lock/lock.ts'
import {
  readAnswer,
  readOffer,
  readTransferNonce,
  withAnswer,
  withOffer,
  withTransferNonce,
} from '../../src/election/rules/transfer-notes.ts'
import { resolveTimingOptions } from '../../src/election/timing-options.ts'
import { holdBackMs } from '../../src/election/rules/hold-back.ts'
import { readStandbys } from '../../src/election/rules/standby-note.ts'
import { withStandbys } from '../../src/election/rules/standby.ts'
import { kinds, lease, ME, purposes, PureElector } from './pure-elector.ts'

const STEP_DOWN = { kind: 'step-down', reason: 'step-down', cooldownMs: 4800 } as const
const HELD = lease({ version: 1n }).record

/** The record without an offer; the answer to it stays. */
function withoutOffer(record: LeaseRecord): LeaseRecord {
  const { 'tenure.dev/transfer-offer': _, ...annotations } = record.annotations
  return { ...record, annotations }
}

/** The lease as `record`, at `version`. */
const at = (version: bigint, record: LeaseRecord): PresentLease => ({
  kind: 'present',
  version,
  record,
  deleting: false,
})

/** The last record that the elector wrote, answered by another replica. */
const answered = (elector: PureElector, version: bigint, identity = 'other', nonce = 'n1') =>
  at(version, withAnswer(elector.lastWrite.write.record, { identity, nonce }))

describe('A leader that steps down', () => {
  test('offers the lease with an early renewal once the drain has lasted for 25 ms', () => {
    const elector = new PureElector().lead()
    elector.send(STEP_DOWN)
    expect(elector.passTo(24)).toEqual([])
    expect(purposes(elector.passTo(25))).toEqual(['renew'])
    const { base, record } = elector.lastWrite.write
    expect(readOffer(record)).toEqual({ to: undefined })
    expect(record).toMatchObject({ holderIdentity: ME, acquireTime: base?.record.acquireTime })
  })

  test('is spared the offer when the drain is over before', () => {
    const elector = new PureElector().lead()
    elector.send(STEP_DOWN)
    elector.now = 24
    expect(purposes(elector.send({ kind: 'drained' }))).toEqual(['release'])
  })

  test('offers at once to a replica that is named', () => {
    const elector = new PureElector().lead()
    elector.send({ ...STEP_DOWN, to: 'other', answerTimeoutMs: 2000 })
    expect(purposes(elector.passTo(0))).toEqual(['renew'])
    expect(readOffer(elector.lastWrite.write.record)).toEqual({ to: 'other' })
  })

  test('offers after the renewal that is under way', () => {
    const elector = new PureElector().lead()
    elector.passTo(2000)
    elector.send(STEP_DOWN)
    elector.now = 2030
    elector.acknowledge(3n)
    expect(purposes(elector.passTo(2030))).toEqual(['renew'])
    expect(readOffer(elector.lastWrite.write.record)).toEqual({ to: undefined })
  })

  test('offers nothing where leases are left to expire', () => {
    const elector = new PureElector({ releaseOnExit: false }).lead()
    elector.send(STEP_DOWN)
    expect(purposes(elector.passTo(1999))).toEqual([])
    elector.passTo(2000)
    expect(readOffer(elector.lastWrite.write.record)).toBeUndefined()
  })

  test('hands the lease over with the one write that follows the last task', () => {
    const elector = offering()
    elector.observe(answered(elector, 4n))
    elector.now = 100
    expect(purposes(elector.send({ kind: 'drained' }))).toEqual(['transfer'])
    const { base, record } = elector.lastWrite.write
    expect(base?.version).toBe(4n)
    expect(record).toMatchObject({ holderIdentity: 'other', leaseDurationSeconds: 5, leaseTransitions: 5 })
    expect(record.acquireTime).toBe(record.renewTime)
    expect(readTransferNonce(record)).toBe('n1')
    expect([readOffer(record), readAnswer(record)]).toEqual([undefined, undefined])
    expect(elector.acknowledge(5n)).toEqual([
      { kind: 'term-over', outcome: 'transferred', successor: 'other' },
      { kind: 'leader-observed', identity: 'other' },
    ])
  })

  test.each([
    ['drops the standbys that let a later one answer: they may have crashed', {}, ['later']],
    ['keeps the list when it named its successor: nobody else could answer', { to: 'other' }, ['crashed', 'later']],
  ])('%s', (_, to, expected) => {
    const elector = new PureElector().lead()
    elector.send({ ...STEP_DOWN, ...to })
    elector.passTo(25)
    const { record } = elector.lastWrite.write
    const list = ['crashed', 'other', 'later'].map((identity) => ({ identity, revision: undefined, since: 1n }))
    elector.observe(at(4n, withAnswer(withStandbys(record, list), { identity: 'other', nonce: 'n1' })))
    elector.send({ kind: 'drained' })
    expect(elector.lastWrite.write.purpose).toBe('transfer')
    expect(readStandbys(elector.lastWrite.write.record).map(({ identity }) => identity)).toEqual([...expected, ME])
  })

  test('does not take the lease back from the successor', () => {
    const elector = transferring()
    elector.acknowledge(5n)
    expect(purposes(elector.passTo(5098))).toEqual([])
    expect(purposes(elector.passTo(5250))).toEqual(['acquire'])
  })

  test('keeps offer and answer in the renewals of the drain', () => {
    const elector = offering()
    elector.observe(answered(elector, 4n))
    elector.passTo(2025)
    expect(readOffer(elector.lastWrite.write.record)).toEqual({ to: undefined })
    expect(readAnswer(elector.lastWrite.write.record)).toEqual({ identity: 'other', nonce: 'n1' })
  })

  test('takes an answer neither for another holder nor for an edit that prolongs its lease', () => {
    const elector = offering()
    const { validUntil } = elector.as('draining').hold
    expect(elector.observe(answered(elector, 4n))).toEqual([])
    expect(elector.as('draining').hold.validUntil).toBe(validUntil)
  })

  test('that is refused because an answer was faster writes again at once, on the answered version', () => {
    const elector = offering()
    elector.now = 60
    elector.send({ kind: 'drained' })
    expect(elector.lastWrite.write.purpose).toBe('release')
    elector.observe(answered({ lastWrite: elector.all('write').at(-2) } as PureElector, 4n))
    expect(purposes(elector.failWrite('conflict'))).toEqual(['transfer'])
    expect(elector.lastWrite.write.base?.version).toBe(4n)
  })

  test('sends no offer with a renewal that is due before the drain has lasted for that long', () => {
    const elector = new PureElector().lead()
    elector.passTo(1990)
    elector.send(STEP_DOWN)
    expect(purposes(elector.passTo(2000))).toEqual(['renew'])
    expect(readOffer(elector.lastWrite.write.record)).toBeUndefined()
    elector.acknowledge(3n)
    expect(purposes(elector.passTo(2014))).toEqual([])
    expect(purposes(elector.passTo(2015))).toEqual(['renew'])
    expect(readOffer(elector.lastWrite.write.record)).toEqual({ to: undefined })
  })

  test('does not put off a renewal that is due before its offer', () => {
    const elector = new PureElector().lead()
    elector.passTo(1990)
    elector.send(STEP_DOWN)
    expect(elector.as('draining').hold.request).toEqual({ kind: 'waiting', at: 2000 })
  })

  test('takes nothing for an answer before it has offered the lease', () => {
    const elector = new PureElector().lead()
    elector.send(STEP_DOWN)
    elector.observe(answered(elector, 3n))
    expect(purposes(elector.send({ kind: 'drained' }))).toEqual(['release'])
  })

  test('releases when nobody has answered', () => {
    const elector = offering()
    expect(purposes(elector.send({ kind: 'drained' }))).toEqual(['release'])
    expect(elector.lastWrite.write.record.annotations).not.toHaveProperty(['tenure.dev/transfer-offer'])
  })

  test.each([
    [5024, ['transfer']],
    [5025, ['release']],
  ])('releases when the answer was not renewed for as long as a transfer is good for: at %d', (now, written) => {
    const elector = offering()
    elector.passTo(25)
    elector.observe(answered(elector, 4n))
    elector.passTo(2025)
    elector.acknowledge(5n)
    elector.passTo(4025)
    elector.acknowledge(6n)
    elector.now = now
    expect(purposes(elector.send({ kind: 'drained' }))).toEqual(written)
  })

  test('gives up an answer that was not renewed for so long, and accepts the answer of another follower', () => {
    const elector = offering()
    elector.observe(answered(elector, 4n))
    for (const [now, version] of [
      [2025, 5n],
      [4025, 6n],
    ] as const) {
      elector.passTo(now)
      elector.acknowledge(version)
    }
    expect(readAnswer(elector.lastWrite.write.record)).toMatchObject({ identity: 'other' })
    elector.passTo(6025)
    expect(readAnswer(elector.lastWrite.write.record)).toBeUndefined()
    elector.acknowledge(7n)
    elector.observe(answered(elector, 8n, 'third', 'n2'))
    elector.now = 6100
    expect(purposes(elector.send({ kind: 'drained' }))).toEqual(['transfer'])
    expect(elector.lastWrite.write.record).toMatchObject({ holderIdentity: 'third' })
  })

  test.each([
    ['of another term', { 'tenure.dev/transfer-answer': '{"holder":"me","of":"t","identity":"other","nonce":"n"}' }],
    ['that is no JSON', { 'tenure.dev/transfer-answer': '{' }],
    ['without a nonce', { 'tenure.dev/transfer-answer': '{"identity":"other"}' }],
  ])('releases over an answer %s', (_name, annotations) => {
    const elector = offering()
    const { record } = elector.lastWrite.write
    elector.observe(at(4n, { ...record, annotations: { ...record.annotations, ...annotations } }))
    expect(purposes(elector.send({ kind: 'drained' }))).toEqual(['release'])
  })

  test('does not take its own answer for that of a successor', () => {
    const elector = offering()
    elector.observe(answered(elector, 4n, ME))
    expect(purposes(elector.send({ kind: 'drained' }))).toEqual(['release'])
  })
})

describe('A leader that steps down in favour of another', () => {
  test('accepts no other answer, waits for the right one, and transfers when it comes', () => {
    const elector = offering({ to: 'other', answerTimeoutMs: 2000 })
    elector.observe(answered(elector, 4n, 'third'))
    elector.now = 50
    expect(elector.send({ kind: 'drained' })).toEqual([])
    expect(purposes(elector.passTo(1500))).toEqual([])
    expect(purposes(elector.observe(answered(elector, 5n)))).toEqual(['transfer'])
  })

  test('releases when the right answer does not come in time', () => {
    const elector = offering({ to: 'other', answerTimeoutMs: 1900 })
    elector.now = 50
    elector.send({ kind: 'drained' })
    expect(purposes(elector.passTo(1899))).toEqual([])
    expect(purposes(elector.passTo(1900))).toEqual(['release'])
  })

  test('releases at once when it stops while it waits', () => {
    const elector = offering({ to: 'other', answerTimeoutMs: 8000 })
    elector.now = 50
    elector.send({ kind: 'drained' })
    expect(purposes(elector.send({ kind: 'stop' }))).toEqual(['release'])
  })

  test('releases as soon as it is empty when it was stopped before', () => {
    const elector = offering({ to: 'other', answerTimeoutMs: 8000 })
    elector.now = 50
    expect(purposes(elector.send({ kind: 'stop' }))).toEqual([])
    expect(purposes(elector.send({ kind: 'drained' }))).toEqual(['release'])
  })

  test('goes on renewing while it waits', () => {
    const elector = offering({ to: 'other', answerTimeoutMs: 9000 })
    elector.send({ kind: 'drained' })
    expect(purposes(elector.passTo(2025))).toEqual(['renew'])
  })
})

describe('A transfer of unknown outcome', () => {
  test('that turns out to have happened ends the term as transferred', () => {
    const elector = transferring()
    const done = elector.stored(5n)
    elector.failWrite('unknown-outcome')
    expect(elector.answerRead(done)).toContainEqual({ kind: 'term-over', outcome: 'transferred', successor: 'other' })
  })

  test('whose successor is seen at work first ends the term as transferred, too', () => {
    const elector = transferring()
    const { record } = elector.stored(5n)
    const effects = elector.observe(at(6n, { ...record, renewTime: '2026-01-01T12:00:09.000000Z' }))
    expect(effects).toContainEqual({ kind: 'term-over', outcome: 'transferred', successor: 'other' })
  })

  test.each([
    ['another replica that acquired in the same microsecond', { holderIdentity: 'third' }],
    ['the named replica in a term of its own', { acquireTime: '2026-01-01T12:00:09.000000Z' }],
  ])('is not what made %s the holder: the lease is lost', (_name, change) => {
    const elector = transferring()
    const { record } = elector.stored(5n)
    const effects = elector.observe(at(6n, { ...record, renewTime: '2026-01-01T12:00:09.000000Z', ...change }))
    expect(effects).toContainEqual({ kind: 'term-over', outcome: 'lost' })
  })

  test('is sent again when it has not happened, and never begins the term again', () => {
    const elector = transferring()
    const before = elector.lastWrite.write.base as PresentLease
    elector.failWrite('unknown-outcome')
    elector.answerRead(before)
    expect(purposes(elector.passTo(1000))).toEqual(['transfer'])
    elector.failWrite('unknown-outcome')
    elector.failRead('unknown-outcome')
    elector.passTo(20_000)
    expect(elector.all('begin-term')).toHaveLength(1)
    expect(elector.all('term-over')).toEqual([{ kind: 'term-over', outcome: 'expired', successor: undefined }])
  })
})

describe('A follower that sees an offer', () => {
  test('answers at once when it is the first standby, and changes nothing but annotations', () => {
    const elector = new PureElector()
    elector.random = 0.5
    const offered = withOffer(withStandbys(HELD, [{ identity: ME, revision: undefined, since: 1n }]), { to: undefined })
    const [write] = elector.follow(at(1n, offered)).filter(({ kind }) => kind === 'write')
    expect(write).toMatchObject({ write: { purpose: 'answer', base: { version: 1n } } })
    const { record } = elector.lastWrite.write
    expect({ ...record, annotations: {} }).toEqual({ ...offered, annotations: {} })
    expect(readAnswer(record)).toMatchObject({ identity: ME })
  })

  test('holds back twice as long as before a released lease otherwise', () => {
    const elector = new PureElector()
    elector.random = 0.5
    elector.follow(at(1n, withOffer(HELD, { to: undefined })))
    expect(purposes(elector.passTo(2 * holdBackMs(0.5) - 1))).toEqual([])
    expect(purposes(elector.passTo(2 * holdBackMs(0.5)))).toEqual(['answer'])
  })

  test('stays quiet when another answer stands', () => {
    const elector = new PureElector()
    elector.random = 0.5
    elector.follow(at(1n, withOffer(HELD, { to: undefined })))
    elector.observe(at(2n, withAnswer(withOffer(HELD, { to: undefined }), { identity: 'third', nonce: 'n' })))
    expect(purposes(elector.passTo(9000))).toEqual([])
  })

  test('answers, after a new delay, when that answer has gone', () => {
    const elector = new PureElector()
    elector.random = 0.5
    const offered = withOffer(HELD, { to: undefined })
    elector.follow(at(1n, offered))
    elector.observe(at(2n, withAnswer(offered, { identity: 'third', nonce: 'n' })))
    elector.passTo(6000)
    elector.observe(at(3n, { ...offered, renewTime: '2026-01-01T12:00:06.000000Z' }))
    expect(purposes(elector.passTo(6000 + 2 * holdBackMs(0.5) - 1))).toEqual([])
    expect(purposes(elector.passTo(6000 + 2 * holdBackMs(0.5)))).toEqual(['answer'])
  })

  test('stays quiet when the offer is to another', () => {
    const elector = new PureElector()
    elector.follow(at(1n, withOffer(HELD, { to: 'third' })))
    elector.passTo(9000)
    expect(elector.all('write')).toEqual([])
  })

  test('stays quiet when the offer is of an earlier term', () => {
    const elector = new PureElector()
    const { annotations } = withOffer(HELD, { to: undefined })
    elector.follow(at(1n, { ...HELD, acquireTime: '2026-01-01T11:59:59.000000Z', annotations }))
    elector.passTo(9000)
    expect(elector.all('write')).toEqual([])
  })

  test.each([
    ['another replica has got the lease by its answer', { holderIdentity: 'third', acquireTime: 'later' }],
    ['the lease still names the leader', {}],
  ])('does not lead while %s', (_, change) => {
    const elector = answering()
    const { record } = elector.lastWrite.write
    const nonce = readAnswer(record)?.nonce ?? ''
    elector.observe(at(3n, withTransferNonce({ ...record, ...change }, nonce)))
    expect(elector.state.kind).toBe('following')
  })

  test('stays quiet while it leaves the lease to others', () => {
    const elector = transferring()
    elector.acknowledge(5n)
    const { record } = elector.stored(6n)
    elector.observe(at(6n, withOffer(record, { to: ME })))
    expect(purposes(elector.passTo(4000))).toEqual([])
  })

  test('warms up once its answer stands, and stops when another holder is seen', () => {
    const elector = new PureElector()
    expect(kinds(elector.follow(at(1n, withOffer(HELD, { to: ME }))))).toEqual(['leader-observed', 'write'])
    expect(kinds(elector.acknowledge(2n))).toEqual(['warm-up'])
    const other = lease({ version: 3n, holderIdentity: 'third', acquireTime: '2026-01-01T11:30:00.000000Z' })
    expect(kinds(elector.observe(other))).toEqual(['warm-up-over', 'leader-observed'])
  })

  test('stays warm when the lease is released after all', () => {
    const elector = answering()
    const released = lease({ version: 3n, holderIdentity: '', acquireTime: '2026-01-01T11:30:00.000000Z' })
    expect(kinds(elector.observe(released))).toEqual(['leader-observed', 'write'])
    expect(kinds(elector.acknowledge(4n))).toEqual(['leader-observed', 'begin-term'])
  })

  test('stays warm, when another one writes the released lease first, until it sees who', () => {
    const elector = answering()
    elector.observe(lease({ version: 3n, holderIdentity: '', acquireTime: '2026-01-01T11:30:00.000000Z' }))
    expect(kinds(elector.failWrite('conflict'))).not.toContain('warm-up-over')
    expect(kinds(elector.observe(lease({ version: 4n, holderIdentity: 'third', acquireTime: 'later' })))).toContain(
      'warm-up-over',
    )
  })

  test('answers again, with another nonce, well before the last answer is half as old as a transfer lasts', () => {
    const elector = answering()
    const first = readAnswer(elector.lastWrite.write.record)
    expect(purposes(elector.passTo(1999))).toEqual([])
    expect(purposes(elector.passTo(2000))).toEqual(['answer'])
    expect(readAnswer(elector.lastWrite.write.record)?.nonce).not.toBe(first?.nonce)
  })

  test('is warm no more when it has stopped without an answer to the withdrawal of its own', () => {
    const elector = answering()
    elector.send({ kind: 'stop' })
    elector.as('following')
    elector.now = elector.as('following').leaveBy ?? Infinity
    expect(kinds(elector.send({ kind: 'wake' }))).toEqual(['warm-up-over', 'stopped'])
  })

  test('waits, before it stops, for what becomes of an answer in flight: the lease may be transferred to it', () => {
    const elector = new PureElector()
    elector.follow(at(1n, withOffer(HELD, { to: ME })))
    elector.send({ kind: 'stop' })
    expect(elector.as('following').leaveBy).toBe(5000)
    elector.passTo(4999)
    expect(elector.state.kind).toBe('following')
  })

  test('answers at once when it is named, although others are on the list of standbys', () => {
    const elector = new PureElector()
    elector.random = 0.5
    const list = ['a', 'b'].map((identity) => ({ identity, revision: undefined, since: 1n }))
    elector.follow(at(1n, withOffer(withStandbys(HELD, list), { to: ME })))
    expect(purposes(elector.passTo(0))).toEqual([])
    expect(elector.lastWrite.write.purpose).toBe('answer')
  })

  test('goes on answering for as long as the offer stands, each time that long after the last answer', () => {
    const elector = answering()
    for (const [now, version] of [
      [2000, 3n],
      [4000, 4n],
      [6000, 5n],
      [8000, 6n],
      [10_000, 7n],
    ] as const) {
      expect(purposes(elector.passTo(now - 1))).toEqual([])
      expect(purposes(elector.passTo(now))).toEqual(['answer'])
      elector.acknowledge(version)
    }
    expect(elector.as('following').memory.candidate?.sent).toHaveLength(4)
  })

  test.each<[string, (answered: LeaseRecord) => LeaseRecord]>([
    ['the offer is withdrawn', (record) => withoutOffer(record)],
    [
      'the leader begins a new term',
      (record) => withOffer({ ...record, acquireTime: 'later', annotations: {} }, { to: ME }),
    ],
    ['another replica has answered', (record) => withAnswer(record, { identity: 'third', nonce: 'n' })],
    [
      'the answer of an earlier process of its name stands',
      (record) => withAnswer(record, { identity: ME, nonce: 'n' }),
    ],
  ])('is no candidate any more when %s', (_, change) => {
    const elector = answering()
    expect(kinds(elector.observe(at(3n, change(elector.lastWrite.write.record))))).toContain('warm-up-over')
    expect(elector.as('following').memory.candidate?.stands ?? false).toBe(false)
  })

  test('is not the successor by its own answer once another replica has answered', () => {
    const elector = answering()
    elector.observe(at(3n, withAnswer(elector.lastWrite.write.record, { identity: 'third', nonce: 'n' })))
    expect(elector.as('following').memory.candidate).toBeUndefined()
  })

  test('answers itself where the answer of an earlier process of its name stands', () => {
    const elector = new PureElector()
    const answered = withAnswer(withOffer(HELD, { to: ME }), { identity: ME, nonce: 'n' })
    expect(purposes(elector.follow(at(1n, answered)))).toEqual(['answer'])
    expect(kinds(elector.acknowledge(2n))).toEqual(['warm-up'])
  })

  test('stays quiet when it is an offer under its own name, of another process', () => {
    const elector = new PureElector()
    elector.follow(at(1n, withOffer({ ...HELD, holderIdentity: ME }, { to: undefined })))
    elector.passTo(9000)
    expect(elector.all('write')).toEqual([])
  })

  test('tries again after a quarter of the retry period when its answer could not be stored', () => {
    const elector = new PureElector()
    elector.follow(at(1n, withOffer(HELD, { to: ME })))
    elector.failWrite('unreachable')
    expect(purposes(elector.passTo(499))).toEqual([])
    expect(purposes(elector.passTo(500))).toEqual(['answer'])
  })

  test('tries again on the newer version when its answer was refused, and not before it sees that', () => {
    const elector = new PureElector()
    const offered = withOffer(HELD, { to: ME })
    elector.follow(at(1n, offered))
    expect(elector.failWrite('conflict')).toEqual([])
    expect(purposes(elector.passTo(500))).toEqual([])
    const renewed = { ...offered, renewTime: '2026-01-01T11:00:02.000000Z' }
    expect(purposes(elector.observe(at(2n, renewed)))).toEqual(['answer'])
  })

  test('takes its answer back before it stops', () => {
    const elector = answering()
    expect(purposes(elector.send({ kind: 'stop' }))).toEqual(['answer'])
    expect(readAnswer(elector.lastWrite.write.record)).toBeUndefined()
    expect(kinds(elector.acknowledge(3n))).toEqual(['warm-up-over', 'stopped'])
  })

  test('stops without it when the lease cannot be written', () => {
    const elector = answering()
    elector.send({ kind: 'stop' })
    elector.failWrite('forbidden')
    expect(kinds(elector.passTo(4999))).not.toContain('stopped')
    elector.passTo(5000)
    expect(elector.state.kind).toBe('stopped')
  })
})

describe('A successor', () => {
  test('acts at the moment at which it sees the transfer, and renews in the same instant', () => {
    const elector = answering()
    elector.now = 900
    const effects = elector.observe(transferTo(elector, 9n))
    expect(effects).toMatchObject([
      { kind: 'leader-observed', identity: ME },
      { kind: 'begin-term', epoch: 9n, validUntil: 4750 },
      { kind: 'write', write: { purpose: 'renew', base: { version: 9n }, record: { leaseDurationSeconds: 15 } } },
    ])
    expect(readTransferNonce(elector.lastWrite.write.record)).toBeUndefined()
    expect(elector.acknowledge(10n)).toContainEqual({ kind: 'extend-validity', validUntil: 900 + 14_250 })
  })

  test('gains the full duration by a renewal within the second of the transfer', () => {
    const elector = answering()
    elector.now = 10
    const transfer = transferTo(elector, 9n)
    const renewTime = new Date(elector.wallOffset).toISOString().replace('Z', '001Z')
    elector.observe(at(9n, { ...transfer.record, renewTime }))
    expect(elector.acknowledge(10n)).toContainEqual({ kind: 'extend-validity', validUntil: 10 + 14_250 })
  })

  test('whose lease lasts less long than a transfer acts no longer than its first renewal entitles it to: others may see that', () => {
    const timing = {
      leaseDurationMs: 3000,
      renewDeadlineMs: 2000,
      retryPeriodMs: 300,
      requestTimeoutMs: 400,
      abortGraceMs: 500,
    }
    const elector = answering({ timing: resolveTimingOptions(timing) })
    elector.now = 100
    expect(elector.observe(transferTo(elector, 9n))).toContainEqual(
      expect.objectContaining({ kind: 'begin-term', validUntil: 100 + 2850 }),
    )
    elector.failWrite('unknown-outcome')
    elector.passTo(2949)
    expect(elector.all('wedged')).toEqual([])
    elector.passTo(2950)
    expect(elector.all('wedged')).toHaveLength(1)
  })

  test('ends in time when it cannot renew', () => {
    const elector = answering()
    elector.observe(transferTo(elector, 9n))
    elector.failWrite('forbidden')
    elector.stallTo(2375)
    expect(kinds(elector.send({ kind: 'wake' }))).toEqual(['end-term', 'hard-abort'])
    elector.passTo(4750)
    expect(elector.all('wedged')).toHaveLength(1)
  })

  test.each([
    ['that it does not know', 0, 'unknown'],
    ['of an answer that was sent too long ago', 2251, undefined],
  ])('renews first, and then acts, on a nonce %s', (_name, now, nonce) => {
    const elector = answering()
    elector.stallTo(now)
    expect(kinds(elector.observe(transferTo(elector, 9n, nonce)))).toEqual(['leader-observed', 'write'])
    expect(elector.all('begin-term')).toEqual([])
    expect(elector.acknowledge(10n)).toContainEqual(expect.objectContaining({ kind: 'begin-term', epoch: 10n }))
  })

  test('that acquires the lease because too little time is left does not act on the transfer afterwards', () => {
    const elector = answering()
    elector.stallTo(2251)
    const transfer = transferTo(elector, 9n)
    elector.observe(transfer)
    elector.failWrite('unknown-outcome')
    elector.observe(transfer)
    elector.passTo(2300)
    elector.answerRead(transfer)
    expect(purposes(elector.passTo(4750))).toContain('acquire')
    expect(elector.all('begin-term')).toEqual([])
  })

  test('knows the transferred record as its own, its epoch, and that its answers are used', () => {
    const elector = answering()
    const transfer = transferTo(elector, 9n)
    elector.observe(transfer)
    const { own, observedLeader, candidate, highestEpoch } = elector.as('leading').memory
    expect({ own, observedLeader, candidate, highestEpoch }).toEqual({
      own: transfer.record,
      observedLeader: ME,
      candidate: undefined,
      highestEpoch: 9n,
    })
  })

  test('acts no longer than others respect a transfer whose duration somebody has raised', () => {
    const elector = answering()
    const transfer = transferTo(elector, 9n)
    const effects = elector.observe({ ...transfer, record: { ...transfer.record, leaseDurationSeconds: 3600 } })
    expect(effects).toContainEqual(expect.objectContaining({ kind: 'begin-term', validUntil: 4750 }))
  })

  test('acts at once where exactly half of the time of a transfer is left', () => {
    const elector = answering()
    elector.stallTo(2250)
    expect(kinds(elector.observe(transferTo(elector, 9n)))).toContain('begin-term')
  })

  test('is nobody but the replica that the transfer names', () => {
    const elector = answering()
    const transfer = transferTo(elector, 9n)
    elector.observe({ ...transfer, record: { ...transfer.record, holderIdentity: 'third' } })
    expect(elector.state.kind).toBe('following')
  })

  test('holds the lease without acting for as long as the holder of a deleted lease may act', () => {
    const elector = answering()
    elector.state = { ...elector.state, memory: { ...elector.state.memory, actNotBefore: 1000 } }
    expect(kinds(elector.observe(transferTo(elector, 9n)))).toEqual(['leader-observed', 'write'])
    elector.as('reserving')
    elector.acknowledge(10n)
    expect(kinds(elector.passTo(999))).toEqual([])
    expect(elector.passTo(1000)).toContainEqual(expect.objectContaining({ kind: 'begin-term', handoverMs: 1000 }))
  })

  test('uses a nonce once', () => {
    const elector = answering()
    const transfer = transferTo(elector, 9n)
    elector.observe(transfer)
    elector.send({ kind: 'lost', reason: 'stalled' })
    elector.send({ kind: 'drained' })
    expect(elector.observe({ ...transfer, version: 10n }).filter(({ kind }) => kind === 'begin-term')).toEqual([])
    expect(elector.all('begin-term')).toHaveLength(1)
  })

  test('that has to stop gives the lease back without acting', () => {
    const elector = answering()
    elector.send({ kind: 'stop' })
    expect(purposes(elector.observe(transferTo(elector, 9n)))).toEqual(['release'])
    expect(elector.all('begin-term')).toEqual([])
  })

  test('is not what a replica becomes by a transfer of an earlier term that is still noted', () => {
    const elector = answering()
    const { annotations } = transferTo(elector, 9n).record
    elector.observe(lease({ version: 9n, holderIdentity: ME, acquireTime: '2026-01-01T11:59:00.000000Z', annotations }))
    expect(elector.all('begin-term')).toEqual([])
    expect(elector.state.kind).toBe('following')
  })
})

describe('A proof that the holder is dead', () => {
  const holder = { identity: 'other', acquireTime: HELD.acquireTime }

  test('lets a follower take the lease without waiting, on the version that names the holder', () => {
    const elector = new PureElector()
    elector.follow(lease({ version: 7n }))
    elector.now = 3000
    const [write] = elector.send({ kind: 'holder-dead', holder })
    expect(write).toMatchObject({ kind: 'write', write: { purpose: 'acquire', base: { version: 7n } } })
    expect(kinds(elector.acknowledge(8n))).toEqual(['leader-observed', 'begin-term'])
  })

  test.each([
    ['another holder', { identity: 'third', acquireTime: HELD.acquireTime }],
    ['another term of the same identity', { identity: 'other', acquireTime: '2026-01-01T10:00:00.000000Z' }],
  ])('of %s proves nothing', (_name, dead) => {
    const elector = new PureElector()
    elector.follow(lease({ version: 7n }))
    expect(elector.send({ kind: 'holder-dead', holder: dead })).toEqual([])
    expect(purposes(elector.passTo(14_999))).toEqual([])
  })

  test('is void once the lease has changed hands', () => {
    const elector = new PureElector()
    elector.random = 0.9
    elector.follow(lease({ version: 7n }))
    elector.send({ kind: 'holder-dead', holder })
    elector.observe(lease({ version: 8n, acquireTime: '2026-01-01T11:30:00.000000Z' }))
    expect(purposes(elector.passTo(14_999))).toEqual([])
  })
})

/** A leader whose offer was stored as version 3, 25 ms after it began to step down. */
function offering(order: { readonly to?: string; readonly answerTimeoutMs?: number } = {}): PureElector {
  const elector = new PureElector().lead()
  elector.send({ ...STEP_DOWN, ...order })
  elector.passTo(25)
  elector.acknowledge(3n)
  return elector
}

/** A leader that has sent a transfer to `other`, based on version 4. */
function transferring(): PureElector {
  const elector = offering()
  elector.observe(answered(elector, 4n))
  elector.now = 100
  elector.send({ kind: 'drained' })
  return elector
}

/** A follower whose answer to the offer of `other`, sent at 0, was stored as version 2. */
function answering(config: ConstructorParameters<typeof PureElector>[0] = {}): PureElector {
  const elector = new PureElector(config)
  elector.follow(at(1n, withOffer(HELD, { to: ME })))
  elector.acknowledge(2n)
  return elector
}

/** The transfer to this replica that follows from its last answer. */
function transferTo(elector: PureElector, version: bigint, nonce?: string): PresentLease {
  const time = '2026-01-01T11:59:58.000000Z'
  const record: LeaseRecord = {
    ...HELD,
    holderIdentity: ME,
    leaseDurationSeconds: 5,
    acquireTime: time,
    renewTime: time,
    leaseTransitions: 4,
    annotations: {},
  }
  const answers = elector.all('write').flatMap(({ write }) => readAnswer(write.record) ?? [])
  return at(version, withTransferNonce(record, nonce ?? answers.at(-1)?.nonce ?? ''))
}
