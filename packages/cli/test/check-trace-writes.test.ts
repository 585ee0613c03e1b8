import type { TraceAct, TraceRecord, TraceWrite } from '@tenure/core/internal'
import { describe, expect, test } from 'vitest'
import { writeIn } from '../../../test/traces/corruption.ts'
import { lease, ME } from '../../core/test/election/pure-elector.ts'
import { withOffer } from '../../core/src/election/rules/transfer-notes.ts'
import { checkWithLast, checkWithWrite, headerOf, lastOf, linesOf } from './support/edited-trace.ts'
import { check, TracedElector } from './support/traced-elector.ts'

const HELD = lease({ version: 2n })

/** The times of the record that `lead()` writes. */
const ACQUIRED_AT = '2026-01-01T12:00:00.000000Z'

/** Notes of a transfer that a record may have. */
const NOTES: readonly Partial<TraceRecord>[] = [{ x: 'n' }, { y: ['another', 'n'] }, { o: true }]

/** A leader whose term is empty: it sends its release. */
function releasing(): TracedElector {
  const leader = new TracedElector().lead()
  leader.now = 1000
  leader.send({ kind: 'step-down', reason: 'step-down', cooldownMs: 1000 })
  leader.send({ kind: 'drained' })
  leader.as('releasing')
  return leader
}

/** A leader that drains with the answer of `friend` to its offer. */
function answered(): TracedElector {
  const leader = new TracedElector().lead()
  leader.now = 1000
  leader.send({ kind: 'step-down', reason: 'step-down', cooldownMs: 0, to: 'friend', answerTimeoutMs: 2000 })
  leader.passTo(1000)
  leader.takeOffer(3n)
  return leader
}

function transferring(): TracedElector {
  const leader = answered()
  leader.send({ kind: 'drained' })
  leader.as('releasing')
  return leader
}

function acquiring(): TracedElector {
  const elector = new TracedElector()
  elector.send({ kind: 'start' })
  elector.observe(lease({ version: 1n, holderIdentity: '', leaseDurationSeconds: 1 }))
  elector.as('acquiring')
  return elector
}

function renewing(): TracedElector {
  const leader = new TracedElector().lead()
  leader.passTo(2000)
  return leader
}

function announcing(): TracedElector {
  const follower = new TracedElector({ announceAfterMs: 500 })
  follower.follow(HELD)
  follower.passTo(500)
  return follower
}

/** A follower that answers an offer to any replica. */
function answering(): TracedElector {
  const follower = new TracedElector()
  follower.follow(HELD)
  follower.observe({ ...HELD, version: 3n, record: withOffer(HELD.record, { to: undefined }) })
  follower.passTo(follower.now + 1000)
  return follower
}

/** What the last step sends. */
function sentBy(elector: TracedElector): TraceWrite | undefined {
  return writeIn(lastOf(linesOf(elector)), 'renew', 'release', 'transfer', 'announce')
}

describe('The trace of a release', () => {
  test('is sound if it clears the lease, and unsound if it keeps something, or changes more', () => {
    expect(check(releasing())).toEqual([])
    const found = [expect.stringMatching(/^write: a release says holder ""/)]
    for (const fields of [{ d: 15 }, { a: ACQUIRED_AT }, { e: 7 }, { n: 9 }, ...NOTES])
      expect(checkWithWrite(releasing(), 'release', (record) => Object.assign(record, fields))).toEqual(found)
  })

  test('is unsound if it is sent while the term drains', () => {
    const found = ['write: a release is sent while draining']
    expect(checkWithLast(releasing(), (last) => (last.s = 'draining'))).toEqual(found)
  })

  test('is unsound if the term was abandoned before', () => {
    const abandoned = checkWithLast(releasing(), (last, lines) => {
      Object.assign(headerOf(lines), { onWedged: 'abandon' })
      const acts: readonly TraceAct[] = [{ u: 'wedged' }, { u: 'over', outcome: 'expired' }, ...(last.d ?? [])]
      Object.assign(last, { e: 'wake', d: acts })
    })
    expect(abandoned).toEqual(['S3: a release is sent after the term is over'])
  })
})

describe('The trace of a transfer', () => {
  test('is sound if it protects the new holder for 5 s, and unsound if it states another duration, an offer or an answer', () => {
    expect(check(transferring())).toEqual([])
    const found = [expect.stringMatching(/^write: a transfer says holder "friend"/)]
    for (const fields of [{ d: 2 }, { d: 15 }, { y: ['friend', 'n'] }, { o: true }])
      expect(checkWithWrite(transferring(), 'transfer', (record) => Object.assign(record, fields))).toEqual(found)
  })
})

describe('The trace of a term that was aborted', () => {
  test.each([
    { what: 'release', leading: () => new TracedElector().lead(), ending: releasing },
    { what: 'transfer', leading: answered, ending: transferring },
  ])('is unsound if a $what is sent when it has drained', ({ what, leading, ending }) => {
    const leader = leading()
    leader.send({ kind: 'lost', reason: 'stalled' })
    leader.send({ kind: 'drained' })
    expect(check(leader)).toEqual([])
    const found = checkWithLast(leader, (last) => {
      Object.assign(last, { s: 'following', d: [sentBy(ending()), { u: 'over', outcome: 'expired' }] })
    })
    expect(found).toEqual([`S3: a ${what} is sent while following`])
  })
})

describe('The trace of an acquisition', () => {
  test.each(NOTES)('is unsound if its record has the note %o of a transfer', (note) => {
    expect(check(acquiring())).toEqual([])
    expect(checkWithWrite(acquiring(), 'acquire', (record) => Object.assign(record, note))).toEqual([
      expect.stringMatching(/^write: an acquisition by me says /),
    ])
  })
})

describe('The trace of a renewal', () => {
  test('is unsound if it has the nonce of a transfer', () => {
    expect(check(renewing())).toEqual([])
    const found = ['write: a renewal keeps the nonce of a transfer']
    expect(checkWithWrite(renewing(), 'renew', (record) => (record.x = 'n'))).toEqual(found)
  })

  test('is unsound if it answers an offer itself', () => {
    const found = ['write: a renewal answers for another']
    expect(checkWithWrite(renewing(), 'renew', (record) => (record.y = ['another', 'n']))).toEqual(found)
  })

  test('is sound if it keeps or drops the answer of the record that it replaces, and unsound if it changes the answer', () => {
    const leader = answered()
    leader.passTo(3000)
    const withTheAnswer = (answer: TraceRecord['y']) =>
      checkWithWrite(leader, 'renew', (record) => Object.assign(record, { y: answer }))
    expect(check(leader)).toEqual([])
    expect(sentBy(leader)?.r).toMatchObject({ y: ['friend', 'n'] })
    expect(withTheAnswer(undefined)).toEqual([])
    expect(withTheAnswer(['friend', 'm'])).toEqual(['write: a renewal answers for friend'])
    expect(withTheAnswer(['another', 'n'])).toEqual(['write: a renewal answers for another'])
  })
})

describe('The trace of an announcement', () => {
  const found = ['write: an announcement changes more than the list']

  test.each([...NOTES, { e: 7 }])('is unsound if its record has another note: %o', (note) => {
    expect(check(announcing())).toEqual([])
    expect(checkWithWrite(announcing(), 'announce', (record) => Object.assign(record, note))).toEqual(found)
  })

  test('is sound if it reminds of an epoch that the lease has forgotten, and unsound if it states another one', () => {
    const follower = new TracedElector({ announceAfterMs: 500 })
    follower.follow(lease({ version: 11n, annotations: { 'tenure.dev/least-epoch': '20' } }))
    follower.observe(lease({ version: 12n }))
    follower.passTo(1000)
    expect(sentBy(follower)?.r).toMatchObject({ e: 20 })
    expect(check(follower)).toEqual([])
    for (const epoch of [13, 21])
      expect(checkWithWrite(follower, 'announce', (record) => (record.e = epoch))).toEqual(found)
  })

  test('is unsound if it states the epoch of the lease that the lease has not forgotten', () => {
    expect(checkWithWrite(announcing(), 'announce', (record) => (record.e = 2))).toEqual(found)
  })
})

describe('The trace of an answer to an offer that has an answer', () => {
  /** The follower replaces this answer by its own, or withdraws it. */
  function replaces(answer: TraceRecord['y'], withdraws: boolean): readonly string[] {
    return checkWithLast(answering(), (last) => {
      Object.assign(last.r ?? {}, { y: answer })
      if (withdraws) delete writeIn(last, 'answer')?.r.y
    })
  }

  test('is sound if that is its own: it may replace and withdraw it', () => {
    expect(check(answering())).toEqual([])
    expect(replaces([ME, 'before'], false)).toEqual([])
    expect(replaces([ME, 'before'], true)).toEqual([])
  })

  test('is unsound if that is of another replica, whether it replaces or withdraws it', () => {
    const found = ['write: an answer replaces that of another']
    expect(replaces(['another', 'n'], false)).toEqual(found)
    expect(replaces(['another', 'n'], true)).toEqual(found)
  })

  test('is unsound if there is none that it could withdraw', () => {
    expect(replaces(undefined, true)).toEqual([expect.stringMatching(/^write: an answer/)])
  })
})
