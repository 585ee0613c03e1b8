import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { resolveTimingOptions } from '../../src/election/timing-options.ts'
import { isKeptByHolder } from '../../src/election/rules/standby-note.ts'
import { withTransferNonce } from '../../src/election/rules/transfer-notes.ts'
import type { LeaseRecord } from '../../src/lock/lease-record.ts'
import { kinds, lease, ME, purposes, PureElector } from './pure-elector.ts'

/** Leads from a write sent at 0; the lease is at version 2. */
const leading = () => new PureElector().lead()

const edit = (elector: PureElector, version: bigint, fields: Partial<LeaseRecord>) => {
  const stored = elector.stored(version)
  return { ...stored, record: { ...stored.record, ...fields } }
}

describe('A leader whose lease is edited', () => {
  test('gains no time by a renewal of which it learns when somebody has removed its duration: others may take the lease', () => {
    const elector = leading()
    elector.passTo(2000)
    elector.failWrite('unknown-outcome')
    const effects = elector.answerRead(edit(elector, 4n, { leaseDurationSeconds: undefined }))
    expect(kinds(effects)).toEqual(['renewed', 'end-term', 'close-gate', 'hard-abort'])
  })

  test('renews at once, from the edited version, with its own duration', () => {
    const elector = leading()
    elector.passTo(500)
    elector.observe(edit(elector, 3n, { leaseDurationSeconds: 3600 }))
    expect(purposes(elector.passTo(500))).toEqual(['renew'])
    expect(elector.lastWrite.write).toMatchObject({ base: { version: 3n }, record: { leaseDurationSeconds: 15 } })
  })

  test('renews at once when somebody edits the transitions, and stays valid for as long as before', () => {
    const elector = leading()
    elector.passTo(500)
    expect(elector.observe(edit(elector, 3n, { leaseTransitions: 99 }))).toEqual([])
    expect(purposes(elector.passTo(500))).toEqual(['renew'])
    expect(elector.as('leading').hold.validUntil).toBe(14_250)
  })

  test('keeps a list of standbys again with that renewal, where the edit of the transitions ended the old one', () => {
    const elector = leading()
    elector.passTo(500)
    elector.observe(edit(elector, 3n, { leaseTransitions: 99 }))
    elector.passTo(500)
    expect(isKeptByHolder(elector.lastWrite.write.record)).toBe(true)
  })

  test('is valid for the shorter duration, counted from its last renewal, until it has renewed', () => {
    const elector = leading()
    elector.passTo(1500)
    const effects = elector.observe(edit(elector, 3n, { leaseDurationSeconds: 10 }))
    expect(effects).toEqual([{ kind: 'shorten-validity', validUntil: 9500 }])
    elector.passTo(1510)
    expect(elector.acknowledge(4n)).toEqual([
      { kind: 'extend-validity', validUntil: 1500 + 14_250 },
      { kind: 'renewed', elapsedMs: 10 },
    ])
  })

  test('is valid for no longer than the stated duration from now where its last renewal is older than that', () => {
    const elector = leading()
    elector.passTo(1900)
    const effects = elector.observe(edit(elector, 3n, { leaseDurationSeconds: 1 }))
    expect(effects).toEqual([{ kind: 'shorten-validity', validUntil: 1900 + 950 }])
  })

  test('ends the term within the stated duration when nothing answers any more', () => {
    const elector = leading()
    elector.passTo(1900)
    elector.observe(edit(elector, 3n, { leaseDurationSeconds: 1 }))
    const effects = elector.passTo(1900 + 950)
    expect(kinds(effects)).toEqual(['write', 'end-term', 'hard-abort', 'wedged', 'exit'])
    expect(elector.all('end-term')).toMatchObject([{ reason: 'renew-deadline' }])
  })

  test('counts from the first of several edits that nobody has answered', () => {
    const elector = leading()
    elector.passTo(1900)
    const [first, second] = [{ leaseDurationSeconds: 2 }, { leaseDurationSeconds: 3 }].map((fields, index) =>
      edit(elector, BigInt(3 + index), fields),
    )
    if (first === undefined || second === undefined) throw new Error('Expected two edits')
    elector.observe(first)
    elector.passTo(2400)
    elector.observe(second)
    expect(elector.as('leading').hold.validUntil).toBe(1900 + 1900)
  })

  test.each([undefined, 0, -1, -15])(
    'ends the term at once when others need not wait at all: %s seconds',
    (seconds) => {
      const elector = leading()
      elector.passTo(500)
      const effects = elector.observe(edit(elector, 3n, { leaseDurationSeconds: seconds }))
      expect(kinds(effects)).toEqual(['end-term', 'close-gate', 'hard-abort'])
      expect(elector.as('aborting').reason).toBe('superseded')
    },
  )

  test('has its former validity again when the renewal falls into the second of the last one', () => {
    const elector = new PureElector({ timing: resolveTimingOptions({ retryPeriodMs: 300 }) }).lead()
    elector.passTo(100)
    elector.observe(edit(elector, 3n, { leaseDurationSeconds: 5 }))
    elector.passTo(110)
    expect(elector.acknowledge(4n)).toEqual([
      { kind: 'extend-validity', validUntil: 14_250 },
      { kind: 'renewed', elapsedMs: 10 },
    ])
  })

  test('takes the edit into account that comes with the news of its own renewal', () => {
    const elector = leading()
    elector.passTo(2000)
    const effects = elector.observe(edit(elector, 4n, { leaseDurationSeconds: 1 }))
    expect(effects).toContainEqual({ kind: 'shorten-validity', validUntil: 2950 })
    expect(purposes(elector.passTo(2000))).toEqual(['renew'])
  })

  test('takes the edit into account that comes with the news of its acquisition', () => {
    const elector = new PureElector()
    elector.follow(lease({ version: 1n, holderIdentity: '' }))
    elector.observe(edit(elector, 3n, { leaseDurationSeconds: 4 }))
    expect(elector.as('leading').hold).toMatchObject({ validUntil: 3800, uncut: { validUntil: 14_250 } })
  })

  test('does not renew faster and faster beside a store that changes every write', () => {
    const elector = leading()
    let writes = 0
    for (let version = 3n; elector.now < 60_000; version++) {
      elector.passTo(elector.now + 50)
      if (elector.as('leading').hold.request.kind !== 'writing') continue
      writes++
      elector.answerWrite({ kind: 'written', lease: edit(elector, version, { leaseDurationSeconds: 12 }) })
    }
    expect(writes).toBeLessThan(40)
  })

  test('cuts an end short that is under way', () => {
    const elector = leading()
    elector.passTo(10_000)
    elector.as('aborting')
    const held = elector.all('write')[0]?.write.record
    if (held === undefined) throw new Error('Expected a write')
    const effects = elector.observe({
      kind: 'present',
      version: 9n,
      deleting: false,
      record: { ...held, leaseDurationSeconds: 1 },
    })
    expect(effects).toEqual([{ kind: 'shorten-validity', validUntil: 10_950 }, { kind: 'hard-abort' }])
    expect(kinds(elector.passTo(10_950))).toEqual(['wedged', 'exit'])
  })

  test('has no other answer to a duration than a shorter validity, a renewal, or an end in time, whatever it is', () => {
    const durations = fc.oneof(
      fc.constantFrom(undefined, 0, -1, 1, 2, 14, 15, 16, 2 ** 31 - 1, 2 ** 53, 1e300, 0.5, Number.NaN, Infinity),
      fc.integer(),
      fc.double(),
    )
    fc.assert(
      fc.property(durations, fc.integer({ min: 0, max: 1999 }), (seconds, seenAt) => {
        const elector = leading()
        elector.passTo(seenAt)
        elector.observe(edit(elector, 3n, { leaseDurationSeconds: seconds }))
        elector.passTo(seenAt)
        const granted = seconds !== undefined && seconds > 0 ? seconds * 1000 * (1 - 0.05) : 0
        elector.passTo(seenAt + granted)
        expect(elector.all('end-term').length === 1 || granted > 8000).toBe(true)
        expect(elector.all('shorten-validity').every(({ validUntil }) => validUntil <= seenAt + granted)).toBe(true)
      }),
    )
  })
})

describe('A follower that sees an edit', () => {
  const RENEWED = '2026-01-01T11:00:05.000000Z'
  const LATER = '2026-01-01T11:00:06.000000Z'
  const LAST = '2026-01-01T11:00:07.000000Z'
  const following = (fields: Partial<LeaseRecord> = {}) => {
    const elector = new PureElector()
    elector.follow(lease({ version: 1n, ...fields }))
    elector.passTo(4000)
    return elector
  }
  const takesAt = (elector: PureElector): number => {
    elector.passTo(200_000)
    const [, at] = /Z (\d+)$/.exec(times.get(elector)?.[0] ?? '') ?? []
    return Number(at)
  }
  const times = new WeakMap<PureElector, string[]>()
  const timed = (elector: PureElector) => {
    times.set(elector, [])
    elector.onEffect = (effect) => {
      if (effect.kind === 'write') times.get(elector)?.push(`Z ${elector.now}`)
    }
    return elector
  }

  test('waits out the duration with which the holder renewed, when the edit shortens it', () => {
    const elector = timed(following())
    elector.observe(lease({ version: 2n, leaseDurationSeconds: 1 }))
    expect(takesAt(elector)).toBe(15_000)
  })

  test('waits that duration again when the renew time moved as well: the holder may have renewed unseen before the edit', () => {
    const elector = timed(following())
    elector.observe(lease({ version: 2n, leaseDurationSeconds: 1, renewTime: RENEWED }))
    expect(takesAt(elector)).toBe(19_000)
  })

  test('waits for an unseen renewal also after two edits, of which it saw the first', () => {
    const elector = timed(following())
    elector.observe(lease({ version: 2n, leaseDurationSeconds: 1 }))
    elector.observe(lease({ version: 4n, leaseDurationSeconds: 1, renewTime: RENEWED }))
    expect(takesAt(elector)).toBe(19_000)
  })

  test('waits out that duration when somebody empties the holder and leaves the times', () => {
    const elector = timed(following())
    elector.observe(lease({ version: 2n, holderIdentity: '' }))
    expect(takesAt(elector)).toBe(15_000)
  })

  test('waits that duration again when the holder is empty and only the renew time moved', () => {
    const elector = timed(following())
    elector.observe(lease({ version: 2n, holderIdentity: '', renewTime: RENEWED }))
    expect(takesAt(elector)).toBe(19_000)
  })

  test('takes a released lease at once: a release has new times', () => {
    const elector = timed(following())
    const times = { acquireTime: RENEWED, renewTime: RENEWED }
    elector.observe(lease({ version: 2n, holderIdentity: '', leaseDurationSeconds: 1, ...times }))
    expect(takesAt(elector)).toBe(4000)
  })

  test('takes the lease one second after a release that leaves the name in place: it has a new acquire time', () => {
    const elector = timed(following())
    elector.observe(lease({ version: 2n, leaseDurationSeconds: 1, acquireTime: RENEWED, renewTime: RENEWED }))
    expect(takesAt(elector)).toBe(5000)
  })

  test.each([
    ['is shortened', { leaseDurationSeconds: 1 }],
    ['is removed', { leaseDurationSeconds: undefined }],
    ['stays, while the holder is emptied', { holderIdentity: '' }],
  ])(
    'waits for its own duration when the one %s in a term of which it saw nothing: the holder may have renewed',
    (_how, change) => {
      const elector = timed(following())
      elector.observe(lease({ version: 9n, acquireTime: '2026-01-01T11:00:01.000000Z', renewTime: RENEWED, ...change }))
      expect(takesAt(elector)).toBe(19_000)
    },
  )

  test('waits for its own duration when the one is shortened of a lease that was transferred, and it missed the renewal: a transfer states 5 s', () => {
    const elector = timed(following())
    const transferred = lease({ version: 2n, leaseDurationSeconds: 5, acquireTime: RENEWED, renewTime: RENEWED })
    elector.observe({ ...transferred, record: withTransferNonce(transferred.record, 'n') })
    elector.send({ kind: 'watch-down' })
    elector.answerRead(lease({ version: 9n, leaseDurationSeconds: 1, acquireTime: RENEWED, renewTime: LATER }))
    elector.send({ kind: 'watch-up' })
    expect(takesAt(elector)).toBe(19_000)
  })

  test('waits for its own duration when the one is shortened again, and it saw only shortened records of the term', () => {
    const elector = timed(new PureElector())
    elector.follow(lease({ version: 1n, leaseDurationSeconds: 1, renewTime: RENEWED }))
    elector.send({ kind: 'watch-down' })
    elector.stallTo(4000)
    elector.answerRead(lease({ version: 9n, leaseDurationSeconds: 1, renewTime: LATER }))
    elector.send({ kind: 'watch-up' })
    expect(takesAt(elector)).toBe(19_000)
  })

  test('waits for the duration of the holder when it is shortened, once it has seen a renewal directly', () => {
    const elector = timed(new PureElector())
    elector.follow(lease({ version: 1n, leaseDurationSeconds: 10, renewTime: RENEWED }))
    elector.observe(lease({ version: 2n, leaseDurationSeconds: 10, renewTime: LATER }))
    elector.stallTo(30_000)
    elector.send({ kind: 'watch-down' })
    elector.answerRead(lease({ version: 9n, leaseDurationSeconds: 1, renewTime: LAST }))
    elector.send({ kind: 'watch-up' })
    expect(takesAt(elector)).toBe(40_000)
  })

  test('waits for its own duration when the first record that it sees is edited', () => {
    const elector = timed(new PureElector())
    elector.follow(lease({ version: 9n, holderIdentity: '', renewTime: RENEWED }))
    expect(takesAt(elector)).toBe(15_000)
  })

  test('waits for the duration of a record that a holder with a shorter one has begun with', () => {
    const elector = timed(following())
    elector.observe(lease({ version: 9n, leaseDurationSeconds: 10, acquireTime: RENEWED }))
    expect(takesAt(elector)).toBe(14_000)
  })

  test('waits for the longer duration after an edit that lengthens it', () => {
    const elector = timed(following())
    elector.observe(lease({ version: 2n, leaseDurationSeconds: 30 }))
    expect(takesAt(elector)).toBe(34_000)
  })

  test('waits for its own duration at most when somebody takes an absurd duration back', () => {
    const elector = timed(following({ leaseDurationSeconds: 100_000 }))
    elector.observe(lease({ version: 2n, leaseDurationSeconds: 15 }))
    expect(takesAt(elector)).toBe(19_000)
  })

  test('does not take an edit of a record with its own name for a second process', () => {
    const elector = following({ holderIdentity: ME })
    elector.observe(lease({ version: 2n, holderIdentity: ME, leaseDurationSeconds: 1 }))
    expect(elector.state.kind).toBe('following')
  })
})
