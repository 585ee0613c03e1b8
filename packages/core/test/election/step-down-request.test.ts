import { describe, expect, test } from 'vitest'
import {
  readRequest,
  readRequestAnswer,
  type StepDownRequest,
  withRequest,
  withRequestAnswered,
} from '../../src/election/rules/step-down-request.ts'
import { readOffer, withAnswer } from '../../src/election/rules/transfer-notes.ts'
import type { LeaseRecord } from '../../src/lock/lease-record.ts'
import type { PresentLease } from '../../src/lock/lock.ts'
import { lease, purposes, PureElector } from './pure-elector.ts'

/** The lease of this leader as the store has it after an operator wrote a request. */
function asked(elector: PureElector, version: bigint, request: StepDownRequest = { id: 'r1' }): PresentLease {
  const { lease: held } = elector.as('leading').hold
  return { ...held, version, record: withRequest(held.record, request) }
}

const TO_OTHER: StepDownRequest = { id: 'r1', to: 'other' }

/** A leader that is about to write that it declines a transfer to another replica. */
function declining(): PureElector {
  const leader = new PureElector().lead()
  leader.observe(asked(leader, 3n, TO_OTHER))
  leader.passTo(1)
  leader.acknowledge(4n)
  leader.passTo(2300)
  leader.acknowledge(5n)
  leader.passTo(2500)
  return leader
}

describe('A leader of whose lease somebody requests a step-down', () => {
  test('drains, answers in a renewal, and releases when the term is empty', () => {
    const leader = new PureElector().lead()
    const effects = leader.observe(asked(leader, 3n))
    expect(effects).toContainEqual({ kind: 'end-term', reason: 'step-down', voluntary: true })
    expect(purposes(effects)).toEqual([])
    leader.passTo(25)
    expect(readRequestAnswer(leader.lastWrite.write.record)).toEqual({ id: 'r1', outcome: 'draining' })
    leader.acknowledge(4n)
    expect(purposes(leader.send({ kind: 'drained' }))).toEqual(['release'])
    const released = leader.lastWrite.write.record
    expect(released.holderIdentity).toBe('')
    expect(readRequestAnswer(released)).toEqual({ id: 'r1', outcome: 'released' })
    expect(Object.keys(released.annotations)).not.toContain('tenure.dev/step-down-request')
  })

  test('leads on until the replica that the request names answers, then drains and transfers the lease to it', () => {
    const leader = new PureElector().lead()
    leader.observe(asked(leader, 3n, TO_OTHER))
    leader.passTo(1)
    expect(readOffer(leader.lastWrite.write.record)).toEqual({ to: 'other' })
    expect(leader.state.kind).toBe('leading')
    leader.takeOffer(4n)
    expect(leader.as('draining').stepDown).toMatchObject({ reason: 'transferred', to: 'other' })
    leader.send({ kind: 'drained' })
    const { purpose, record } = leader.lastWrite.write
    expect([purpose, record.holderIdentity]).toEqual(['transfer', 'other'])
    expect(readRequestAnswer(record)).toEqual({ id: 'r1', outcome: 'transferred' })
  })

  test('declines the request and leads on if the replica that it names does not answer within a slowest poll', () => {
    const leader = new PureElector().lead()
    leader.observe(asked(leader, 3n, TO_OTHER))
    leader.passTo(leader.now)
    const sentAt = leader.now
    leader.acknowledge(4n)
    leader.passTo(sentAt + 2399)
    expect(readOffer(leader.lastWrite.write.record)).toEqual({ to: 'other' })
    leader.acknowledge(5n)
    leader.passTo(sentAt + 2400)
    const { purpose, record } = leader.lastWrite.write
    expect([leader.state.kind, purpose, readOffer(record)]).toEqual(['leading', 'renew', undefined])
    expect(readRequestAnswer(record)).toEqual({ id: 'r1', outcome: 'declined' })
    expect(readRequest(record)).toBeUndefined()
    expect(leader.all('end-term')).toEqual([])
  })

  test('hands over also to a replica whose answer it sees only when the time to answer is over', () => {
    const leader = new PureElector().lead()
    leader.observe(asked(leader, 3n, TO_OTHER))
    leader.passTo(1)
    leader.acknowledge(4n)
    const { lease: held } = leader.as('leading').hold
    leader.stallTo(leader.as('leading').proposal?.until ?? Infinity)
    leader.observe({ ...held, version: 5n, record: withAnswer(held.record, { identity: 'other', nonce: 'n' }) })
    expect(leader.as('draining').stepDown).toMatchObject({ reason: 'transferred', to: 'other' })
  })

  test('declines as soon as the renewal that is under way then has been answered', () => {
    const leader = new PureElector().lead()
    leader.observe(asked(leader, 3n, TO_OTHER))
    leader.passTo(1)
    leader.acknowledge(4n)
    leader.passTo(2500)
    expect(readOffer(leader.lastWrite.write.record)).toEqual({ to: 'other' })
    leader.acknowledge(5n)
    leader.passTo(2501)
    expect(readRequestAnswer(leader.lastWrite.write.record)).toEqual({ id: 'r1', outcome: 'declined' })
  })

  test('offers nothing twice: with no request in flight, the renewal with the offer is sent at once, and then at its pace', () => {
    const leader = new PureElector().lead()
    leader.observe(asked(leader, 3n, TO_OTHER))
    leader.passTo(1)
    leader.acknowledge(4n)
    expect(purposes(leader.passTo(1900))).toEqual([])
    expect(leader.as('leading').proposal).toEqual({ to: 'other', until: 2400 })
  })

  test('declines again after the write that says so has failed', () => {
    const leader = declining()
    leader.failWrite('conflict')
    leader.answerRead(asked(leader, 9n, TO_OTHER))
    expect(readRequestAnswer(leader.lastWrite.write.record)).toEqual({ id: 'r1', outcome: 'declined' })
    expect(leader.all('end-term')).toEqual([])
  })

  test('offers the lease again for another request, also for one with the id of a request that it has declined', () => {
    const next = declining()
    next.acknowledge(6n)
    next.observe(asked(next, 7n, { id: 'r2', to: 'third' }))
    next.passTo(next.now + 1)
    expect(readOffer(next.lastWrite.write.record)).toEqual({ to: 'third' })
    expect(readRequestAnswer(next.lastWrite.write.record)).toEqual({ id: 'r1', outcome: 'declined' })
    const same = declining()
    same.acknowledge(6n)
    same.observe(asked(same, 7n, TO_OTHER))
    same.passTo(same.now + 1)
    expect(readOffer(same.lastWrite.write.record)).toEqual({ to: 'other' })
  })

  test('obeys the last request: an answer to the offer of an earlier one ends no term', () => {
    const leader = new PureElector().lead()
    leader.observe(asked(leader, 3n, TO_OTHER))
    leader.passTo(1)
    leader.acknowledge(4n)
    const { lease: held } = leader.as('leading').hold
    const answered = withAnswer(held.record, { identity: 'other', nonce: 'n' })
    leader.observe({ ...held, version: 5n, record: withRequest(answered, { id: 'r2', to: 'third' }) })
    expect(leader.state.kind).toBe('leading')
    leader.passTo(leader.now + 1)
    expect(readOffer(leader.lastWrite.write.record)).toEqual({ to: 'third' })
  })

  test('drains at once for a request without a name that replaces one with a name', () => {
    const leader = new PureElector().lead()
    leader.observe(asked(leader, 3n, TO_OTHER))
    leader.observe(asked(leader, 4n, { id: 'r2' }))
    expect(leader.as('draining').stepDown.reason).toBe('step-down')
  })

  test('drains at once for a named replica if it releases no lease, since it cannot transfer it either', () => {
    const leader = new PureElector({ releaseOnExit: false }).lead()
    leader.observe(asked(leader, 3n, TO_OTHER))
    expect(leader.as('draining').stepDown.reason).toBe('transferred')
  })

  test('obeys a request that it learns of from the conflict of a renewal', () => {
    const leader = new PureElector().lead()
    leader.passTo(leader.config.timing.retryPeriodMs)
    leader.failWrite('conflict')
    leader.answerRead(asked(leader, 3n))
    expect(leader.as('draining').stepDown.reason).toBe('step-down')
  })

  test('does not compete for two of its slowest polls, so that another replica may lead', () => {
    const leader = new PureElector().lead()
    leader.observe(asked(leader, 3n))
    leader.send({ kind: 'drained' })
    leader.acknowledge(4n)
    expect(leader.as('following').notBefore).toBe(leader.now + 4800)
  })

  test.each<readonly [string, (held: PresentLease) => PresentLease]>([
    ['of another holder', (held) => bound(held, { holder: 'other' })],
    ['of an earlier term of this holder', (held) => bound(held, { of: '2020-01-01T00:00:00.000000Z' })],
    ['without an id', (held) => bound(held, { id: undefined })],
    ['with an id that has a space', (held) => bound(held, { id: 'r 1' })],
    ['with an id that is no text', (held) => bound(held, { id: 7 })],
    ['to this holder itself', (held) => bound(held, { to: held.record.holderIdentity })],
    ['that is not JSON', (held) => noted(held, 'now!')],
    ['that is JSON, but no object', (held) => noted(held, '7')],
    ['that is too long', (held) => bound(held, { pad: 'x'.repeat(5000) })],
  ])('leads on if the request is one %s', (_, change) => {
    const leader = new PureElector().lead()
    leader.observe(change(asked(leader, 3n)))
    leader.passTo(100)
    expect(leader.state.kind).toBe('leading')
  })

  test('keeps the answer of the last term in its acquisition, and drops it when it ends its own term', () => {
    const first = new PureElector().lead()
    first.observe(asked(first, 3n))
    first.send({ kind: 'drained' })
    const released: PresentLease = {
      ...lease({ version: 9n, holderIdentity: '' }),
      record: first.lastWrite.write.record,
    }
    const next = new PureElector({ identity: 'next' })
    next.follow(released)
    next.passTo(10_000)
    expect(readRequestAnswer(next.lastWrite.write.record)).toEqual({ id: 'r1', outcome: 'released' })
    next.acknowledge(10n)
    next.send({ kind: 'step-down', reason: 'step-down', cooldownMs: 0 })
    next.send({ kind: 'drained' })
    expect(readRequestAnswer(next.lastWrite.write.record)).toBeUndefined()
  })
})

test('A request is read only from a record with the term that it names', () => {
  const leader = new PureElector().lead()
  const { record } = asked(leader, 3n, { id: 'r1', to: 'other' })
  expect(readRequest(record)).toEqual({ id: 'r1', to: 'other' })
  expect(readRequest({ ...record, holderIdentity: '' })).toBeUndefined()
})

test.each<[string, Readonly<Record<string, unknown>>]>([
  ['to nobody is one to any replica', { to: undefined }],
  ['to a replica is one to that replica', { to: 'other' }],
])('A request %s', (_, { to }) => {
  const { record } = bound(lease({ version: 1n, holderIdentity: 'me' }), { to })
  expect(readRequest(record)).toEqual({ id: 'r1', to })
})

test.each<[string, Readonly<Record<string, unknown>>]>([
  ['to the holder itself', { to: 'me' }],
  ['to a replica without a name', { to: '' }],
  ['to a replica whose name is no text', { to: 7 }],
  ['with a tab in its id', { id: 'r\t1' }],
  ['with an empty id', { id: '' }],
])('A request %s is none', (_, change) => {
  expect(readRequest(bound(lease({ version: 1n, holderIdentity: 'me' }), change).record)).toBeUndefined()
})

describe('The answer to a request', () => {
  const { record: held } = lease({ version: 1n, holderIdentity: 'me' })
  const requested = withRequest(held, { id: 'r1' })
  const keysOf = ({ annotations }: LeaseRecord) => Object.keys(annotations).toSorted()

  test.each(['declined', 'released', 'transferred'] as const)('takes the place of the request: %s', (outcome) => {
    const answered = withRequestAnswered(requested, requested, outcome)
    expect(readRequestAnswer(answered)).toEqual({ id: 'r1', outcome })
    expect(keysOf(answered)).toEqual(['tenure.dev/step-down-answer'])
  })

  test('stands beside the request while the term drains', () => {
    const answered = withRequestAnswered(requested, requested, 'draining')
    expect(readRequestAnswer(answered)).toEqual({ id: 'r1', outcome: 'draining' })
    expect(readRequest(answered)).toEqual({ id: 'r1', to: undefined })
    expect(withRequestAnswered(answered, answered, 'draining')).toBe(answered)
  })

  test('takes the place of the request also where it was there before', () => {
    const before = withRequestAnswered(requested, requested, 'draining')
    const annotations = { ...before.annotations, 'tenure.dev/step-down-answer': 'r1 released' }
    const answered = withRequestAnswered({ ...before, annotations }, requested, 'released')
    expect(keysOf(answered)).toEqual(['tenure.dev/step-down-answer'])
  })

  test('leaves a record as it is that has neither a request nor an answer', () => {
    expect(withRequestAnswered(held, held, 'draining')).toBe(held)
    expect(withRequestAnswered(held, held, 'released')).toBe(held)
  })

  test('is gone with the request that it is about, and so is a request that cannot be read', () => {
    const answered = withRequestAnswered(requested, requested, 'draining')
    expect(keysOf(withRequestAnswered(answered, held, 'released'))).toEqual([])
    const { record: malformed } = bound(lease({ version: 1n, holderIdentity: 'me' }), { id: 'r 1' })
    expect(keysOf(withRequestAnswered(malformed, malformed, 'draining'))).toEqual([])
  })

  test('keeps all other annotations', () => {
    const among = { ...requested, annotations: { ...requested.annotations, other: 'kept' } }
    expect(withRequestAnswered(among, among, 'released').annotations).toMatchObject({ other: 'kept' })
  })
})

test.each([undefined, '', 'r1', 'r1 refused', 'r1 released now', 'r1 declined now'])(
  'The answer %j is none',
  (text) => {
    const annotations: Record<string, string> = text === undefined ? {} : { 'tenure.dev/step-down-answer': text }
    const { record } = lease({ version: 1n, holderIdentity: 'me' })
    expect(readRequestAnswer({ ...record, annotations })).toBeUndefined()
  },
)

function bound(held: PresentLease, change: Readonly<Record<string, unknown>>): PresentLease {
  const { holderIdentity: holder, acquireTime: of } = held.record
  return noted(held, JSON.stringify({ holder, of, id: 'r1', ...change }))
}

function noted(held: PresentLease, text: string): PresentLease {
  return { ...held, record: { ...held.record, annotations: { 'tenure.dev/step-down-request': text } } }
}
