import { describe, expect, test } from 'vitest'
import { resolveTimingOptions } from '../../src/election/timing-options.ts'
import { failed, kinds, lease, ME, purposes, PureElector } from './pure-elector.ts'

/** Leads from a write sent at 0; the lease is at version 2. */
const leading = () => new PureElector().lead()

describe('A leader', () => {
  test('renews at the retry period by an update of the version it wrote, without reading', () => {
    const elector = leading()
    expect(elector.passTo(1999)).toEqual([])
    expect(kinds(elector.passTo(2000))).toEqual(['write'])
    expect(elector.lastWrite.write).toMatchObject({ purpose: 'renew', base: { version: 2n } })
    elector.acknowledge(3n)
    elector.passTo(4000)
    expect(elector.lastWrite.write.base?.version).toBe(3n)
    expect(elector.all('read')).toEqual([])
  })

  test('renews for the first time up to half a period early, and then at the period, so that many leases spread', () => {
    const elector = new PureElector()
    elector.follow(lease({ version: 1n, holderIdentity: '' }))
    elector.random = 0.5
    elector.acknowledge(2n)
    expect(elector.passTo(1499)).toEqual([])
    expect(kinds(elector.passTo(1500))).toEqual(['write'])
    elector.acknowledge(3n)
    expect(elector.passTo(3499)).toEqual([])
    expect(kinds(elector.passTo(3500))).toEqual(['write'])
  })

  test('remembers how long its writes took: the last one, or the share that is left of a longer one', () => {
    const elector = new PureElector()
    elector.follow(lease({ version: 1n, holderIdentity: '' }))
    elector.now = 100
    elector.acknowledge(2n)
    const writeMs = [elector.as('leading').hold.writeMs]
    for (const [now, tookMs, version] of [
      [2000, 10, 3n],
      [4000, 60, 4n],
    ] as const) {
      elector.passTo(now)
      elector.now = now + tookMs
      elector.acknowledge(version)
      writeMs.push(elector.as('leading').hold.writeMs)
    }
    expect(writeMs).toEqual([100, 70, 60])
  })

  test('is not misled by late views of an earlier term of its own after a refusal shows that the lease was deleted', () => {
    const elector = leading()
    const { record } = elector.stored(2n)
    elector.passTo(2000)
    elector.failWrite('not-found')
    elector.send({ kind: 'drained' })
    for (const renewTime of ['2026-01-01T11:00:00.000000Z', '2026-01-01T11:00:02.000000Z']) {
      const early = { ...record, acquireTime: '2026-01-01T11:00:00.000000Z', renewTime }
      elector.observe({
        kind: 'present',
        version: renewTime.includes(':02.') ? 2n : 1n,
        deleting: false,
        record: early,
      })
    }
    expect(elector.as('acquiring').observation).toMatchObject({ kind: 'absent', version: 2n })
  })

  test('takes a view with its own version for a restored store only if it is another record, and ignores its own writes again', () => {
    const elector = leading()
    expect(elector.observe(elector.stored(2n))).toEqual([])
    elector.as('leading')
    for (const change of [{ holderIdentity: 'other' }, { acquireTime: '2026-01-01T12:00:01.000000Z' }]) {
      const restored = leading()
      const own = restored.stored(2n)
      expect(kinds(restored.observe({ ...own, record: { ...own.record, ...change } }))).toContain('end-term')
    }
  })

  test('ignores the answers to requests that it does not wait for', () => {
    const elector = leading()
    elector.passTo(2000)
    const { hold } = elector.as('leading')
    expect(elector.answerWrite(failed('unknown-outcome'), 77)).toEqual([])
    expect(elector.as('leading').hold).toEqual(hold)
    elector.failWrite('unknown-outcome')
    const reading = elector.as('leading').hold
    elector.send({ kind: 'read-answer', request: 77, result: failed('unreachable') })
    expect(elector.as('leading').hold).toEqual(reading)
  })

  test.each([
    [0.49, 1500],
    [0.48, 1520],
  ])(
    'renews at the start of a hundredth of the period, together with other leases of the process (chance %d)',
    (random, dueAt) => {
      const elector = new PureElector()
      elector.follow(lease({ version: 1n, holderIdentity: '' }))
      elector.random = random
      elector.acknowledge(2n)
      expect(elector.passTo(dueAt - 1)).toEqual([])
      expect(kinds(elector.passTo(dueAt))).toEqual(['write'])
    },
  )

  test('keeps the pace of its renewals when one goes out late, so that those of many leases do not stay together', () => {
    const elector = leading()
    elector.stallTo(2600)
    expect(kinds(elector.send({ kind: 'wake' }))).toEqual(['write'])
    elector.now = 2700
    elector.acknowledge(3n)
    expect(elector.passTo(3999)).toEqual([])
    expect(kinds(elector.passTo(4000))).toEqual(['write'])
  })

  test('waits for a whole period again when a renewal went out half a period late', () => {
    const elector = leading()
    elector.stallTo(3000)
    elector.send({ kind: 'wake' })
    elector.acknowledge(3n)
    expect(elector.passTo(4999)).toEqual([])
    expect(kinds(elector.passTo(5000))).toEqual(['write'])
  })

  test('keeps acquire time, transitions and duration while renewing, and writes the time of now with six digits', () => {
    const elector = leading()
    elector.passTo(2000)
    expect(elector.lastWrite.write.record).toEqual({
      holderIdentity: ME,
      leaseDurationSeconds: 15,
      acquireTime: '2026-01-01T12:00:00.000000Z',
      renewTime: '2026-01-01T12:00:02.000000Z',
      leaseTransitions: 4,
      annotations: expect.any(Object),
    })
  })

  test('is valid from the send of a renewal and not from its answer', () => {
    const elector = leading()
    elector.passTo(2000)
    elector.now = 4300
    const effects = elector.acknowledge(3n)
    expect(effects).toEqual([
      { kind: 'extend-validity', validUntil: 2000 + 14_250 },
      { kind: 'renewed', elapsedMs: 2300 },
    ])
    expect(elector.as('leading').hold).toMatchObject({ sentAt: 2000, deadlineAt: 12_000, validUntil: 16_250 })
  })

  test('keeps its epoch for the whole term', () => {
    const elector = leading()
    elector.passTo(2000)
    elector.acknowledge(30n)
    expect(elector.as('leading').epoch).toBe(2n)
  })

  test('knows how long the write took that acquired the lease', () => {
    const elector = new PureElector()
    elector.now = 1000
    elector.follow(lease({ version: 1n, holderIdentity: '' }))
    elector.now = 1300
    elector.acknowledge(2n)
    expect(elector.as('leading').hold.writeMs).toBe(300)
  })

  test('renews at once from an earlier record of its term that a restored store has under the present version', () => {
    const elector = leading()
    const first = elector.stored(3n)
    elector.passTo(2000)
    elector.acknowledge(3n)
    elector.passTo(2100)
    expect(elector.observe(first)).toEqual([])
    expect(purposes(elector.passTo(2100))).toEqual(['renew'])
    expect(elector.lastWrite.write.base).toEqual(first)
  })

  test('sends no second renewal beside one in flight when somebody edits the lease', () => {
    const elector = leading()
    const edited = elector.stored(3n)
    elector.passTo(2000)
    elector.observe({ ...edited, record: { ...edited.record, leaseDurationSeconds: 3600 } })
    expect(purposes(elector.passTo(2100))).toEqual([])
    expect(elector.as('leading').hold.request.kind).toBe('writing')
  })

  test('renews no earlier than otherwise once its renewal has undone an edit', () => {
    const elector = leading()
    const edited = elector.stored(3n)
    elector.observe({ ...edited, record: { ...edited.record, leaseDurationSeconds: 3600 } })
    elector.passTo(100)
    elector.acknowledge(4n)
    expect(purposes(elector.passTo(1900))).toEqual([])
  })

  test('renews at once when the store has changed what a renewal wrote, if only in its transitions', () => {
    const elector = leading()
    elector.passTo(2000)
    const stored = elector.stored(3n)
    const { request } = elector.lastWrite
    elector.answerWrite(
      { kind: 'written', lease: { ...stored, record: { ...stored.record, leaseTransitions: 9 } } },
      request,
    )
    expect(purposes(elector.passTo(2000))).toEqual(['renew'])
  })

  test('renews a period of one second after its last write, wherever in a second that was', () => {
    const timing = resolveTimingOptions({ retryPeriodMs: 1000 })
    const elector = new PureElector({ timing })
    elector.now = 500
    elector.lead()
    expect(purposes(elector.passTo(1499))).toEqual([])
    expect(purposes(elector.passTo(1500))).toEqual(['renew'])
  })

  test('ends the term when the deadline has passed since the send of the last acknowledged write', () => {
    const elector = leading()
    failRenewalsTo(elector, 9999)
    expect(elector.state.kind).toBe('leading')
    const effects = failRenewalsTo(elector, 10_000)
    expect(effects).toContainEqual({ kind: 'end-term', reason: 'renew-deadline', voluntary: false })
    elector.as('aborting')
  })

  test.each(['forbidden', 'unauthenticated', 'unreachable', 'throttled', 'rejected'] as const)(
    'tries again several times in a retry period after %s, says why, and leads on when that ends before the deadline',
    (failure) => {
      const elector = leading()
      elector.passTo(2000)
      expect(elector.failWrite(failure)).toMatchObject([
        { kind: 'request-failed', purpose: 'renew', error: { failure } },
      ])
      expect(purposes(elector.passTo(2499))).toEqual([])
      expect(purposes(elector.passTo(2500))).toEqual(['renew'])
      for (let now = 3000; now <= 9500; now += 500) {
        elector.failWrite(failure)
        elector.passTo(now)
      }
      expect(elector.acknowledge(3n)).toContainEqual({ kind: 'extend-validity', validUntil: 9500 + 14_250 })
    },
  )

  test('waits for as long as the server asks for', () => {
    const elector = leading()
    elector.passTo(2000)
    elector.answerWrite(failed('throttled', 1000))
    expect(kinds(elector.passTo(2999))).toEqual([])
    expect(purposes(elector.passTo(3000))).toEqual(['renew'])
  })

  test('waits for one retry period at most, so that one refusal does not cost the term', () => {
    const elector = leading()
    elector.passTo(2000)
    elector.answerWrite(failed('throttled', 86_400_000))
    expect(kinds(elector.passTo(3999))).toEqual([])
    expect(purposes(elector.passTo(4000))).toEqual(['renew'])
  })

  test('restores a duration that somebody edited', () => {
    const elector = leading()
    const edited = elector.stored(3n)
    elector.observe({ ...edited, record: { ...edited.record, leaseDurationSeconds: 3600 } })
    elector.passTo(2000)
    expect(elector.lastWrite.write).toMatchObject({ base: { version: 3n }, record: { leaseDurationSeconds: 15 } })
  })

  test('renews on top of an edit of annotations that it has seen', () => {
    const elector = leading()
    const edited = { ...elector.stored(3n), native: 'edited' }
    expect(elector.observe(edited)).toEqual([])
    elector.passTo(2000)
    expect(elector.lastWrite.write.base).toEqual(edited)
  })

  test('is not prolonged by seeing itself as the holder', () => {
    const elector = leading()
    elector.now = 5000
    elector.observe({ ...elector.stored(3n), native: 'edited' })
    expect(elector.as('leading').hold.validUntil).toBe(14_250)
    expect(elector.all('extend-validity')).toEqual([])
  })

  test('is not disturbed by a view that is older than its own write', () => {
    const elector = leading()
    expect(elector.observe(lease({ version: 1n, holderIdentity: 'ghost' }))).toEqual([])
    expect(elector.observe({ kind: 'absent', version: 1n })).toEqual([])
    expect(elector.state.kind).toBe('leading')
  })
})

describe('A renewal of unknown outcome', () => {
  test('grants nothing by itself and is read back', () => {
    const elector = leading()
    elector.passTo(2000)
    elector.now = 4500
    expect(kinds(elector.failWrite('unknown-outcome'))).toEqual(['request-failed', 'read'])
    expect(elector.as('leading').hold.validUntil).toBe(14_250)
  })

  test('prolongs from its send when it is found to have happened', () => {
    const elector = leading()
    elector.passTo(2000)
    const renewal = elector.stored(3n)
    elector.now = 4500
    elector.failWrite('unknown-outcome')
    elector.now = 4600
    expect(elector.answerRead(renewal)).toContainEqual({ kind: 'extend-validity', validUntil: 16_250 })
  })

  test('is repeated on the same version when it is not found', () => {
    const elector = leading()
    elector.passTo(2000)
    elector.now = 4500
    elector.failWrite('unknown-outcome')
    expect(elector.answerRead(elector.as('leading').hold.lease)).toEqual([])
    elector.passTo(5000)
    expect(elector.lastWrite.write).toMatchObject({ purpose: 'renew', base: { version: 2n } })
  })

  test('leaves the pace of the renewals as it is when it is found to have happened', () => {
    const elector = leading()
    elector.passTo(2000)
    const renewal = elector.stored(3n)
    elector.now = 2100
    elector.failWrite('unknown-outcome')
    elector.answerRead(renewal)
    expect(purposes(elector.passTo(3999))).toEqual([])
    expect(purposes(elector.passTo(4000))).toEqual(['renew'])
  })

  test('is repeated at once where it should have undone an edit', () => {
    const elector = leading()
    const edited = elector.stored(3n)
    elector.observe({ ...edited, record: { ...edited.record, leaseDurationSeconds: 5 } })
    elector.passTo(100)
    elector.failWrite('unknown-outcome')
    elector.answerRead(elector.as('leading').hold.lease)
    expect(purposes(elector.passTo(100))).toEqual(['renew'])
  })

  test('counts from its own send when it shows up beside a later one', () => {
    const elector = leading()
    elector.passTo(2000)
    const late = elector.stored(3n)
    elector.failWrite('unknown-outcome')
    elector.answerRead(elector.as('leading').hold.lease)
    elector.passTo(2500)
    elector.observe(late)
    expect(purposes(elector.passTo(3999))).toEqual([])
    expect(purposes(elector.passTo(4000))).toEqual(['renew'])
  })

  test('does not count as acknowledged by a read that shows the record before it: the term is valid no longer', () => {
    const elector = leading()
    const { validUntil, deadlineAt } = elector.as('leading').hold
    elector.passTo(2000)
    elector.failWrite('unknown-outcome')
    elector.answerRead(elector.as('leading').hold.lease)
    expect(elector.as('leading').hold).toMatchObject({ validUntil, deadlineAt })
  })

  test("that takes effect late is recognised as this replica's, and not as a takeover", () => {
    const elector = leading()
    elector.passTo(2000)
    const late = elector.stored(3n)
    elector.now = 4500
    elector.failWrite('unknown-outcome')
    elector.answerRead(elector.as('leading').hold.lease)
    elector.passTo(5000)
    elector.failWrite('conflict')
    expect(elector.answerRead(late)).toContainEqual({ kind: 'extend-validity', validUntil: 16_250 })
    expect(elector.state.kind).toBe('leading')
    elector.passTo(5100)
    expect(elector.lastWrite.write.base?.version).toBe(3n)
  })

  test('that finds its own version with a record of somebody else ends the term: a restored store uses versions again', () => {
    const elector = leading()
    const { version } = elector.as('leading').hold.lease
    const effects = elector.observe(lease({ version, holderIdentity: 'other' }))
    expect(effects).toContainEqual({ kind: 'end-term', reason: 'superseded', voluntary: false })
  })

  test('is looked for again when reading fails too', () => {
    const elector = leading()
    elector.passTo(2000)
    elector.failWrite('unknown-outcome')
    expect(kinds(elector.failRead('unreachable'))).toEqual(['request-failed'])
    expect(purposes(elector.passTo(2500))).toEqual(['renew'])
  })

  test('that the watch shows needs no answer', () => {
    const elector = leading()
    elector.passTo(2000)
    expect(kinds(elector.observe(elector.stored(3n)))).toEqual(['extend-validity', 'renewed'])
    expect(elector.acknowledge(3n)).toEqual([])
  })
})

describe('After a conflict, a leader', () => {
  test('reads the lease and renews on what it finds when that is still its own', () => {
    const elector = leading()
    const edited = { ...elector.stored(3n), native: 'edited' }
    elector.passTo(2000)
    expect(kinds(elector.failWrite('conflict'))).toEqual(['request-failed', 'read'])
    expect(elector.answerRead(edited)).toEqual([])
    elector.passTo(2600)
    expect(elector.lastWrite.write.base).toEqual(edited)
  })

  test('is superseded when it finds another holder: the gate closes and everything is aborted at once', () => {
    const elector = leading()
    elector.passTo(2000)
    elector.failWrite('conflict')
    expect(elector.answerRead(lease({ version: 3n }))).toEqual([
      { kind: 'end-term', reason: 'superseded', voluntary: false },
      { kind: 'close-gate' },
      { kind: 'hard-abort' },
    ])
  })
})

describe('A leader is superseded', () => {
  test('by another holder that the watch shows', () => {
    const elector = leading()
    expect(kinds(elector.observe(lease({ version: 3n })))).toEqual(['end-term', 'close-gate', 'hard-abort'])
    expect(elector.as('aborting').reason).toBe('superseded')
  })

  test('by a record that names it but that it did not write', () => {
    const elector = leading()
    elector.observe(lease({ version: 3n, holderIdentity: ME, renewTime: '2026-01-01T13:00:00.000000Z' }))
    expect(elector.as('aborting').reason).toBe('superseded')
  })

  test('by somebody who cleared the holder', () => {
    const elector = leading()
    elector.observe(lease({ version: 3n, holderIdentity: '' }))
    expect(elector.as('aborting').reason).toBe('superseded')
  })
})

describe('When the lease is deleted, a leader', () => {
  test('ends the term as soon as the watch shows it, keeps its gate open till the lease is over, and does not create it', () => {
    const elector = leading()
    expect(elector.observe({ kind: 'absent', version: 9n })).toEqual([
      { kind: 'end-term', reason: 'lease-deleted', voluntary: false },
    ])
    expect(purposes(elector.passTo(60_000))).toEqual([])
  })

  test('ends the term when a renewal does not find it', () => {
    const elector = leading()
    elector.passTo(2000)
    expect(elector.failWrite('not-found')).toContainEqual({
      kind: 'end-term',
      reason: 'lease-deleted',
      voluntary: false,
    })
  })
})

describe('A leader whose event loop was blocked', () => {
  test('is stalled when it wakes after the lease was over', () => {
    const elector = leading()
    elector.stallTo(14_250)
    expect(elector.send({ kind: 'wake' })).toContainEqual({ kind: 'end-term', reason: 'stalled', voluntary: false })
  })

  test('sends no renewal when it wakes after its deadline', () => {
    const elector = leading()
    elector.stallTo(10_000)
    expect(purposes(elector.send({ kind: 'wake' }))).toEqual([])
    expect(elector.as('aborting').reason).toBe('renew-deadline')
  })
})

describe('Two writes within one second of the wall clock', () => {
  const quick = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 300 }

  test('prolong once: clients that compare whole seconds do not see the second one', () => {
    const elector = new PureElector({ timing: resolveTimingOptions(quick) }).lead()
    elector.passTo(300)
    expect(elector.acknowledge(3n)).toEqual([{ kind: 'renewed', elapsedMs: 0 }])
    expect(elector.as('leading').hold.validUntil).toBe(14_250)
  })

  test('with a retry period below a second, the first of each second is sent right after it begins, and that one prolongs', () => {
    const elector = new PureElector({ timing: resolveTimingOptions(quick) }).lead()
    const prolongedFrom: number[] = []
    for (let version = 3n; elector.now < 3500; version++) {
      while (elector.as('leading').hold.request.kind !== 'writing') elector.passTo(elector.now + 1)
      for (const effect of elector.acknowledge(version)) {
        if (effect.kind === 'extend-validity') prolongedFrom.push(effect.validUntil - 14_250)
      }
    }
    expect(prolongedFrom).toEqual([1001, 2001, 3001])
  })

  test('with a retry period below a second, are no further apart than the begin of the next second', () => {
    const elector = new PureElector({ timing: resolveTimingOptions({ ...quick, retryPeriodMs: 800 }) })
    elector.now = 700
    elector.lead()
    expect(purposes(elector.passTo(700 + 300))).toEqual([])
    expect(purposes(elector.passTo(700 + 301))).toEqual(['renew'])
    elector.acknowledge(3n)
    expect(purposes(elector.passTo(700 + 301 + 799))).toEqual([])
    expect(purposes(elector.passTo(700 + 301 + 800))).toEqual(['renew'])
  })

  test('both prolong when the lease is too short for such clients anyway', () => {
    const timing = resolveTimingOptions({
      leaseDurationMs: 2000,
      renewDeadlineMs: 1200,
      retryPeriodMs: 300,
      requestTimeoutMs: 300,
      abortGraceMs: 500,
    })
    const elector = new PureElector({ timing }).lead()
    elector.passTo(300)
    expect(kinds(elector.acknowledge(3n))).toEqual(['extend-validity', 'renewed'])
  })

  test('are a whole period apart when the lease is too short for such clients anyway', () => {
    const timing = resolveTimingOptions({
      leaseDurationMs: 2000,
      renewDeadlineMs: 1200,
      retryPeriodMs: 300,
      requestTimeoutMs: 300,
      abortGraceMs: 500,
    })
    const elector = new PureElector({ timing })
    elector.now = 900
    elector.lead()
    expect(purposes(elector.passTo(1199))).toEqual([])
    expect(purposes(elector.passTo(1200))).toEqual(['renew'])
  })

  test('a wall clock that is stepped back into the same second prolongs nothing either', () => {
    const elector = leading()
    elector.wallOffset -= 2000
    elector.passTo(2000)
    expect(kinds(elector.acknowledge(3n))).toEqual(['renewed'])
  })

  test('an edit of the duration that the second one undoes does not make it count', () => {
    const elector = new PureElector({ timing: resolveTimingOptions(quick) }).lead()
    const edited = elector.stored(3n)
    elector.observe({ ...edited, record: { ...edited.record, leaseDurationSeconds: 20 } })
    elector.passTo(300)
    expect(kinds(elector.acknowledge(4n))).toEqual(['renewed'])
  })

  test('store different records, so that each can be identified', () => {
    const elector = leading()
    elector.wallOffset -= 2000
    elector.passTo(2000)
    expect(elector.lastWrite.write.record.renewTime).toBe('2026-01-01T12:00:00.000001Z')
  })
})

describe('A wall clock that jumps', () => {
  test.each([-3_600_000, 3_600_000])('by %i ms neither ends nor prolongs a term', (jump) => {
    const elector = leading()
    elector.wallOffset += jump
    elector.passTo(2000)
    elector.acknowledge(3n)
    expect(elector.as('leading').hold.validUntil).toBe(16_250)
  })
})

/** Lets every renewal fail without being sent, up to the given time. */
function failRenewalsTo(elector: PureElector, until: number) {
  const before = elector.effects.length
  while (elector.now < until) {
    elector.passTo(Math.min(elector.now + 100, until))
    if (elector.state.kind === 'leading' && elector.state.hold.request.kind === 'writing') {
      elector.failWrite('unreachable')
    }
  }
  return elector.effects.slice(before)
}
