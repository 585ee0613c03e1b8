import { describe, expect, test } from 'vitest'
import { holdBackMs } from '../../src/election/rules/hold-back.ts'
import { readProcessRef } from '../../src/election/rules/transfer-notes.ts'
import { resolveTimingOptions } from '../../src/election/timing-options.ts'
import { ABSENT, CONFIG, failed, kinds, lease, ME, purposes, PureElector } from './pure-elector.ts'

const released = (version: bigint) => lease({ version, holderIdentity: '', leaseDurationSeconds: 1 })

function acquiring(): PureElector {
  const elector = new PureElector()
  elector.follow(released(1n))
  elector.as('acquiring')
  return elector
}

describe('An acquiring write', () => {
  test('is based on the version that was judged, and fills every field as client-go does', () => {
    const { write } = acquiring().lastWrite
    expect(write).toEqual({
      purpose: 'acquire',
      base: released(1n),
      record: {
        holderIdentity: ME,
        leaseDurationSeconds: 15,
        acquireTime: '2026-01-01T12:00:00.000000Z',
        renewTime: '2026-01-01T12:00:00.000000Z',
        leaseTransitions: 4,
        annotations: expect.any(Object),
      },
    })
  })

  test('does not count a transition when the lease named this replica already', () => {
    const elector = new PureElector()
    elector.follow(lease({ version: 1n, holderIdentity: ME }))
    elector.passTo(15_000)
    expect(elector.lastWrite.write.record.leaseTransitions).toBe(3)
  })

  test.each([
    [2 ** 31 - 1, 2 ** 31 - 1],
    [2 ** 40, 2 ** 31 - 1],
    [-7, 1],
  ])('counts from %d, which somebody stored, to %d, which the API server takes', (stored, counted) => {
    const elector = new PureElector()
    elector.follow(lease({ version: 1n, holderIdentity: '', leaseTransitions: stored }))
    elector.passTo(100)
    expect(elector.lastWrite.write.record.leaseTransitions).toBe(counted)
  })

  test('begins a term whose epoch is its version, valid from its send and not from its answer', () => {
    const elector = acquiring()
    elector.now = 2000
    const effects = elector.acknowledge(9n)
    expect(effects).toContainEqual(
      expect.objectContaining({ kind: 'begin-term', epoch: 9n, validUntil: 14_250, handoverMs: 2000 }),
    )
    expect(elector.as('leading').hold).toMatchObject({ sentAt: 0, deadlineAt: 10_000, validUntil: 14_250 })
  })

  test('leaves the version alone from which on the replica stands for election: that at which it saw the lease first', () => {
    const { memory } = new PureElector().lead(2n).as('leading')
    expect(memory.since).toBe(1n)
    const creator = new PureElector()
    creator.follow(ABSENT)
    creator.acknowledge(5n)
    expect(creator.as('leading').memory.since).toBe(5n)
  })

  test('says for how long the lease was free before it was taken', () => {
    const elector = new PureElector()
    elector.now = 700
    elector.follow(released(1n))
    elector.now = 900
    expect(elector.acknowledge(2n)).toContainEqual(expect.objectContaining({ kind: 'begin-term', handoverMs: 200 }))
  })

  test('counts the time for which it held back to that in which the lease was free', () => {
    const elector = new PureElector()
    elector.random = 0.5
    elector.follow(lease({ version: 1n }))
    elector.passTo(15_100)
    expect(elector.as('acquiring').write.sentAt).toBe(15_000 + holdBackMs(0.5))
    expect(elector.acknowledge(2n)).toContainEqual(expect.objectContaining({ kind: 'begin-term', handoverMs: 100 }))
  })

  test('that was refused is repeated up to a fifth of the retry period later, so that replicas do not try in step', () => {
    const elector = acquiring()
    elector.random = 1
    elector.failWrite('unreachable')
    expect(kinds(elector.passTo(2399))).toEqual([])
    expect(kinds(elector.passTo(2400))).toEqual(['read'])
  })

  test('that is answered when its deadline has passed begins no term', () => {
    const elector = acquiring()
    elector.now = 10_000
    elector.acknowledge(2n)
    expect(elector.all('begin-term')).toEqual([])
    expect(elector.state.kind).toBe('acquiring')
    expect(elector.lastWrite.write.base?.version).toBe(2n)
  })

  test('that the watch shows before its answer comes begins the term at once, and its answer changes nothing', () => {
    const elector = acquiring()
    const effects = elector.observe(elector.stored(2n))
    expect(kinds(effects)).toContain('begin-term')
    expect(elector.acknowledge(2n)).toEqual([])
    expect(elector.all('begin-term')).toHaveLength(1)
  })

  test.each([
    ['an older version was seen, whose lease was deleted since, counts', 5n, 'reserving'],
    ['its own version was seen with another holder does not count', 9n, 'following'],
    ['a newer version was seen does not count', 10n, 'following'],
  ] as const)('that creates the lease and is answered after %s', (_, version, kind) => {
    const elector = new PureElector()
    elector.follow(ABSENT)
    elector.as('acquiring')
    elector.observe(lease({ version }))
    elector.acknowledge(9n)
    elector.as(kind)
  })

  test('of another request number is not taken for the answer', () => {
    const elector = acquiring()
    expect(elector.answerWrite({ kind: 'written', lease: elector.stored(2n) }, 99)).toEqual([])
    expect(elector.state.kind).toBe('acquiring')
  })
})

describe('A replica that takes its own lease again', () => {
  /** Led from 0, stalled, drained, and sends the next acquiring write at `now`. */
  const retaking = (now: number) => {
    const elector = new PureElector().lead()
    elector.now = now
    elector.send({ kind: 'lost', reason: 'stalled' })
    elector.send({ kind: 'drained' })
    return elector
  }

  test('within one second does not act on that, because clients that compare seconds see no change, and takes it once more', () => {
    const elector = retaking(900)
    expect(kinds(elector.acknowledge(3n))).not.toContain('begin-term')
    elector.as('following')
    elector.passTo(1900)
    expect(elector.acknowledge(4n)).toContainEqual(
      expect.objectContaining({ kind: 'begin-term', epoch: 4n, validUntil: 1900 + 14_250 }),
    )
  })

  test('in another second acts on it', () => {
    expect(kinds(retaking(1100).acknowledge(3n))).toContain('begin-term')
  })
})

describe('After a conflict', () => {
  test('the watch is given a moment to bring the news before the lease is read', () => {
    const elector = acquiring()
    expect(kinds(elector.failWrite('conflict'))).toEqual(['request-failed'])
    expect(elector.as('following').observation.kind).toBe('outdated')
    expect(kinds(elector.passTo(249))).toEqual([])
    expect(kinds(elector.passTo(250))).toEqual(['read'])
  })

  test('the lease is read at once when there is no watch', () => {
    const elector = acquiring()
    elector.send({ kind: 'watch-down' })
    expect(kinds(elector.failWrite('conflict'))).toContain('read')
  })

  test('nothing is read when the watch has brought the news already', () => {
    const elector = acquiring()
    elector.observe(lease({ version: 2n }))
    elector.failWrite('conflict')
    expect(elector.passTo(14_000)).toEqual([])
  })

  test('nothing is written before the change is seen, and then not on what was judged before', () => {
    const elector = acquiring()
    elector.failWrite('conflict')
    elector.passTo(250)
    elector.answerRead(lease({ version: 2n }))
    expect(purposes(elector.passTo(15_249))).toEqual([])
    elector.passTo(15_250)
    expect(elector.lastWrite.write.base?.version).toBe(2n)
  })

  test('a read that finds the very version that was refused clears the doubt, and the next try comes after a pause', () => {
    const elector = acquiring()
    elector.failWrite('conflict')
    elector.passTo(250)
    elector.answerRead(released(1n))
    expect(elector.as('following').observation.kind).toBe('present')
    expect(purposes(elector.passTo(2249))).toEqual([])
    expect(purposes(elector.passTo(2250))).toEqual(['acquire'])
  })

  test('a read that finds the lease still missing at the version at which its creation was refused clears the doubt, too', () => {
    const elector = new PureElector()
    elector.follow({ ...ABSENT, version: 4n })
    elector.failWrite('conflict')
    elector.passTo(250)
    elector.answerRead({ ...ABSENT, version: 4n })
    expect(elector.as('following').observation.kind).toBe('absent')
    expect(purposes(elector.passTo(2249))).toEqual([])
    expect(purposes(elector.passTo(4000))).toEqual(['acquire'])
  })
})

describe('After an answer of unknown outcome', () => {
  test('the lease is read back at once, and a write that is found there leads from the time of its send', () => {
    const elector = acquiring()
    elector.now = 2500
    expect(kinds(elector.failWrite('unknown-outcome'))).toEqual(['request-failed', 'read'])
    elector.now = 2600
    const effects = elector.answerRead(elector.stored(2n))
    expect(effects).toContainEqual(
      expect.objectContaining({ kind: 'begin-term', epoch: 2n, validUntil: 14_250, handoverMs: 2600 }),
    )
  })

  test('the watch may show that the write has happened', () => {
    const elector = acquiring()
    elector.now = 2500
    elector.failWrite('unknown-outcome')
    expect(kinds(elector.observe(elector.stored(2n)))).toContain('begin-term')
  })

  test('a write that is not there yet is looked for again, and a second one on the same version is sent meanwhile', () => {
    const elector = acquiring()
    const first = elector.stored(2n)
    elector.now = 2500
    elector.failWrite('unknown-outcome')
    elector.answerRead(released(1n))
    expect(kinds(elector.passTo(3000))).toEqual(['read'])
    elector.answerRead(released(1n))
    expect(elector.lastWrite.write.base?.version).toBe(1n)
    elector.as('acquiring')
    elector.failWrite('conflict')
    elector.now = 3100
    expect(elector.observe(first)).toContainEqual(
      expect.objectContaining({
        kind: 'begin-term',
        epoch: 2n,
        validUntil: 14_250,
        handoverMs: 3100,
      }),
    )
  })

  test('the next try waits for its pause, also when the lease is seen to name the same dead holder again', () => {
    const elector = new PureElector()
    elector.follow(lease({ version: 1n, leaseDurationSeconds: 1 }))
    elector.passTo(1100)
    elector.failWrite('unknown-outcome')
    elector.answerRead(lease({ version: 1n, leaseDurationSeconds: 1 }))
    elector.observe(lease({ version: 2n, leaseDurationSeconds: 1 }))
    expect(elector.state.kind).toBe('following')
    elector.passTo(1100 + 499)
    expect(elector.all('write')).toHaveLength(1)
    elector.passTo(1100 + 500)
    expect(elector.all('write')).toHaveLength(2)
  })

  test('a newer version that is not this write settles that it never happened', () => {
    const elector = acquiring()
    elector.failWrite('unknown-outcome')
    elector.answerRead(lease({ version: 2n }))
    expect(elector.as('following')).toMatchObject({ outstanding: [], pollAt: undefined })
  })

  test('a record that repeats an older view than the one in doubt grants nothing', () => {
    const elector = new PureElector()
    elector.follow(released(5n))
    const stale = elector.stored(4n)
    elector.failWrite('unknown-outcome')
    elector.observe(stale)
    expect(elector.all('begin-term')).toEqual([])
  })
})

describe('An answer that comes after a newer view', () => {
  test('does not make a leader: another replica has the lease', () => {
    const elector = acquiring()
    const late = elector.stored(2n)
    elector.observe(lease({ version: 3n, holderIdentity: 'other', acquireTime: '2026-01-01T12:00:09.000000Z' }))
    elector.send({ kind: 'write-answer', request: elector.lastWrite.request, result: { kind: 'written', lease: late } })
    expect(elector.as('following').observation).toMatchObject({ lease: { version: 3n } })
    expect(elector.all('begin-term')).toEqual([])
    expect(elector.all('request-failed')).toEqual([])
  })

  test('is the last word of a replica that stops', () => {
    const elector = acquiring()
    const late = elector.stored(2n)
    elector.send({ kind: 'stop' })
    elector.observe({ kind: 'absent', version: 3n })
    elector.send({ kind: 'write-answer', request: elector.lastWrite.request, result: { kind: 'written', lease: late } })
    expect(elector.state.kind).toBe('stopped')
  })
})

describe('After a request that did not happen', () => {
  test.each(['unauthenticated', 'forbidden', 'rejected', 'unreachable'] as const)(
    '%s, the next one comes after the retry period',
    (failure) => {
      const elector = acquiring()
      expect(kinds(elector.failWrite(failure))).toEqual(['request-failed'])
      expect(kinds(elector.passTo(1999))).toEqual([])
      expect(kinds(elector.passTo(2000))).toEqual(['read'])
      elector.answerRead(released(1n))
      expect(elector.state.kind).toBe('acquiring')
    },
  )

  test('because the server asks for patience, the next one comes no earlier than it asks for', () => {
    const elector = acquiring()
    elector.answerWrite(failed('throttled', 6000))
    expect(kinds(elector.passTo(5999))).toEqual([])
    expect(kinds(elector.passTo(6000))).toEqual(['read'])
  })

  test('because nothing can be created in this place, the next one comes after the retry period, watch or not', () => {
    for (const watch of ['watch-up', 'watch-down'] as const) {
      const elector = new PureElector()
      elector.follow(ABSENT)
      elector.send({ kind: watch })
      elector.failWrite('not-found')
      const requests = [...elector.passTo(1999)]
      expect(kinds(requests)).toEqual([])
      expect(kinds(elector.passTo(2000))).toEqual(['read'])
    }
  })
})

describe('A replica that stops while it acquires', () => {
  test('gives the lease back when the write turns out to have happened, and no term begins', () => {
    const elector = acquiring()
    expect(elector.send({ kind: 'stop' })).toEqual([])
    expect(purposes(elector.acknowledge(2n))).toEqual(['release'])
    expect(elector.lastWrite.write).toMatchObject({ base: { version: 2n }, record: { holderIdentity: '' } })
    expect(kinds(elector.acknowledge(3n))).toContain('stopped')
    expect(elector.all('begin-term')).toEqual([])
  })

  test('stops at once when the write did not happen', () => {
    const elector = acquiring()
    elector.send({ kind: 'stop' })
    expect(kinds(elector.failWrite('conflict'))).toEqual(['request-failed', 'stopped'])
  })

  test('finds out what became of a write of unknown outcome, and gives the lease back', () => {
    const elector = acquiring()
    elector.send({ kind: 'stop' })
    elector.now = 2500
    expect(kinds(elector.failWrite('unknown-outcome'))).toEqual(['request-failed', 'read'])
    expect(purposes(elector.answerRead(elector.stored(2n)))).toEqual(['release'])
  })

  test('gives up finding out after two request timeouts', () => {
    const elector = acquiring()
    elector.send({ kind: 'stop' })
    elector.now = 2500
    elector.failWrite('unknown-outcome')
    elector.failRead('unreachable')
    expect(elector.passTo(7499).filter(({ kind }) => kind === 'stopped')).toEqual([])
    elector.passTo(7500)
    expect(elector.state.kind).toBe('stopped')
  })

  test('is not kept longer by being told again', () => {
    const elector = acquiring()
    elector.failWrite('unknown-outcome')
    elector.send({ kind: 'stop' })
    elector.passTo(4000)
    elector.send({ kind: 'stop' })
    elector.passTo(5000)
    expect(elector.state.kind).toBe('stopped')
  })
})

describe('A replica that is cautious beside less strict clients', () => {
  const cautious = new PureElector({ timing: resolveTimingOptions({ acquireDelayMs: 500 }) }).config

  test('renews for a while before it acts on a lease of another replica', () => {
    const elector = new PureElector(cautious)
    elector.follow(released(1n))
    elector.acknowledge(2n)
    elector.as('reserving')
    elector.passTo(499)
    expect(elector.all('begin-term')).toEqual([])
    elector.passTo(500)
    expect(elector.all('begin-term')).toMatchObject([{ epoch: 2n }])
  })

  test('acts at once on its own lease, which nobody else has held since', () => {
    const elector = new PureElector(cautious)
    elector.follow(released(1n))
    elector.acknowledge(2n)
    elector.passTo(500)
    elector.stallTo(1500)
    elector.send({ kind: 'lost', reason: 'stalled' })
    elector.send({ kind: 'drained' })
    elector.as('acquiring')
    elector.acknowledge(3n)
    expect(elector.all('begin-term')).toMatchObject([{ epoch: 2n }, { epoch: 3n }])
  })

  test('gives the lease back when it is stopped before it acts, and no term begins or ends', () => {
    const elector = new PureElector(cautious)
    elector.follow(released(1n))
    elector.acknowledge(2n)
    expect(purposes(elector.send({ kind: 'stop' }))).toEqual(['release'])
    elector.acknowledge(3n)
    expect(elector.state.kind).toBe('stopped')
    expect([...elector.all('begin-term'), ...elector.all('term-over')]).toEqual([])
  })

  test('leaves the lease when it is stopped before it acts and releases are switched off', () => {
    const elector = new PureElector({ ...cautious, releaseOnExit: false })
    elector.follow(released(1n))
    elector.acknowledge(2n)
    expect(kinds(elector.send({ kind: 'stop' }))).toEqual(['stopped'])
  })

  test('loses it without a term when somebody else is seen to hold it', () => {
    const elector = new PureElector(cautious)
    elector.follow(released(1n))
    elector.acknowledge(2n)
    elector.observe(lease({ version: 3n }))
    elector.passTo(5000)
    expect(elector.state.kind).toBe('following')
    expect(elector.all('begin-term')).toEqual([])
  })

  test('gives the lease back after the answer to a renewal under way, so that the two cannot collide', () => {
    const elector = new PureElector({ timing: resolveTimingOptions({ acquireDelayMs: 5000 }) })
    elector.follow(released(1n))
    elector.acknowledge(2n)
    elector.passTo(2000)
    expect(purposes(elector.send({ kind: 'stop' }))).toEqual([])
    expect(elector.state.kind).toBe('releasing')
    expect(purposes(elector.acknowledge(3n))).toEqual(['release'])
    expect(elector.lastWrite.write.base?.version).toBe(3n)
    elector.acknowledge(4n)
    expect(elector.state.kind).toBe('stopped')
  })

  test.each([
    ['has an unknown outcome, and has happened', 'unknown-outcome', 'renewed'],
    ['is refused, because somebody has edited an annotation', 'conflict', 'held'],
  ] as const)('gives the lease back after a renewal under way that %s', (_, failure, found) => {
    const elector = new PureElector({ timing: resolveTimingOptions({ acquireDelayMs: 5000 }) })
    elector.follow(released(1n))
    const held = elector.stored(3n)
    elector.acknowledge(2n)
    elector.passTo(2000)
    const renewed = elector.stored(3n)
    elector.send({ kind: 'stop' })
    elector.failWrite(failure)
    expect(purposes([...elector.answerRead({ held, renewed }[found]), ...elector.passTo(4000)])).toEqual(['release'])
    expect(elector.lastWrite.write.base?.version).toBe(3n)
    elector.acknowledge(4n)
    expect(elector.state.kind).toBe('stopped')
  })
})

const AFTER = '2026-01-01T12:00:01.000000Z'
const LATER = '2026-01-01T12:00:02.000000Z'

describe('A missing lease', () => {
  test('is created and acted on at once by a replica that starts and finds none', () => {
    const elector = new PureElector()
    elector.follow(ABSENT)
    expect(elector.lastWrite.write.base).toBeUndefined()
    expect(elector.lastWrite.write.record.leaseTransitions).toBe(0)
    expect(kinds(elector.acknowledge(1n))).toContain('begin-term')
  })

  test('is created and acted on at once also where no option says so', () => {
    const elector = new PureElector({ missingLease: undefined })
    elector.follow(ABSENT)
    expect(kinds(elector.acknowledge(1n))).toContain('begin-term')
  })

  test('is created at once only if it was never seen: otherwise others may be about to create it, too', () => {
    const [first, later] = [new PureElector(), new PureElector()]
    first.random = 0.5
    first.follow(ABSENT)
    first.as('acquiring')
    later.random = 0.5
    later.follow(lease({ version: 1n }))
    later.observe({ kind: 'absent', version: 2n })
    expect(purposes(later.passTo(holdBackMs(0.5) - 1))).toEqual([])
    expect(purposes(later.passTo(holdBackMs(0.5)))).toEqual(['acquire'])
  })

  test('is created without the process of its creator, which may still have to wait before it acts', () => {
    const elector = new PureElector({ processRef: 'container' })
    elector.follow(ABSENT)
    expect(readProcessRef(elector.lastWrite.write.record)).toBeUndefined()
    const acquiring = new PureElector({ processRef: 'container' })
    acquiring.follow(lease({ version: 1n, holderIdentity: '' }))
    expect(readProcessRef(acquiring.lastWrite.write.record)).toBe('container')
  })

  test('is created and held for a lease duration before acting when the option says wait', () => {
    const elector = new PureElector({ missingLease: 'wait' })
    elector.follow(ABSENT)
    elector.acknowledge(1n)
    holdFor(elector, 14_999)
    expect(elector.all('begin-term')).toEqual([])
    holdFor(elector, 15_000)
    expect(elector.all('begin-term')).toHaveLength(1)
  })

  test('is still missing when the watch shows an older version of it late, and a read is to tell why', () => {
    const elector = new PureElector()
    elector.random = 0.5
    elector.follow(lease({ version: 7n, holderIdentity: ME }))
    elector.observe({ kind: 'absent', version: 9n })
    elector.observe(lease({ version: 8n, holderIdentity: ME, acquireTime: AFTER, renewTime: LATER }))
    elector.observe({ kind: 'absent', version: 8n })
    expect(elector.as('following').observation).toMatchObject({ kind: 'absent', version: 9n })
    expect(elector.all('identity-taken')).toEqual([])
    elector.observe({ kind: 'absent' })
    elector.observe(lease({ version: 9n, holderIdentity: ME, acquireTime: AFTER }))
    expect(elector.as('following').observation).toMatchObject({ kind: 'absent', version: 9n })
    elector.observe(lease({ version: 10n }))
    expect(elector.as('following').observation).toMatchObject({ kind: 'present' })
  })

  test('that this replica has created before is held for a lease duration before acting', () => {
    const elector = new PureElector()
    elector.follow(ABSENT)
    elector.acknowledge(1n)
    elector.observe({ kind: 'absent', version: 5n })
    elector.send({ kind: 'drained' })
    expect(elector.lastWrite.write).not.toHaveProperty('base')
    elector.acknowledge(6n)
    elector.as('reserving')
  })

  test('that was seen to exist is held for a lease duration before acting', () => {
    const elector = recreated()
    holdFor(elector, 15_999)
    expect(elector.all('begin-term')).toEqual([])
    holdFor(elector, 16_000)
    expect(elector.all('begin-term')).toHaveLength(1)
  })

  test('is held for a lease duration from when the creation is known, because the old leader may have renewed meanwhile', () => {
    const elector = new PureElector()
    elector.follow(lease({ version: 1n }))
    elector.observe({ kind: 'absent', version: 2n })
    elector.now = 2400
    elector.acknowledge(5n)
    holdFor(elector, 17_399)
    expect(elector.all('begin-term')).toEqual([])
    holdFor(elector, 17_400)
    expect(elector.all('begin-term')).toHaveLength(1)
  })

  test('that somebody else was faster to create is known to have existed, even if it is gone again when it is looked for', () => {
    const elector = new PureElector()
    elector.follow(ABSENT)
    elector.failWrite('conflict')
    elector.passTo(300)
    elector.answerRead(ABSENT)
    elector.passTo(1000)
    elector.acknowledge(5n)
    expect(elector.state.kind).toBe('reserving')
    expect(elector.all('begin-term')).toEqual([])
  })

  test('that is lost while it is held and taken again is still held to the end of that time', () => {
    const elector = recreated()
    elector.passTo(3000)
    elector.failWrite('unreachable')
    while (elector.state.kind === 'reserving') {
      elector.passTo(elector.now + 100)
      if (elector.state.kind === 'reserving' && elector.state.hold.request.kind === 'writing') {
        elector.failWrite('unreachable')
      }
    }
    elector.as('acquiring')
    expect(elector.now).toBeLessThan(12_000)
    elector.acknowledge(6n)
    expect(elector.all('begin-term')).toEqual([])
    holdFor(elector, 15_999)
    expect(elector.all('begin-term')).toEqual([])
    holdFor(elector, 16_000)
    expect(elector.all('begin-term')).toHaveLength(1)
  })

  test('that is held before acting is left and not freed when the replica stops: the next one would act too early', () => {
    const elector = recreated()
    elector.passTo(2000)
    expect(purposes(elector.send({ kind: 'stop' }))).toEqual([])
    expect(elector.state.kind).toBe('stopped')
  })

  test('that is created by a replica which is stopping is left and not freed, for the same reason', () => {
    const elector = new PureElector()
    elector.follow(lease({ version: 1n }))
    elector.observe({ kind: 'absent', version: 2n })
    elector.send({ kind: 'stop' })
    expect(purposes(elector.acknowledge(3n))).toEqual([])
    expect(elector.state.kind).toBe('stopped')
  })

  test('is not acted on by a replica that slept through the time for which it held it', () => {
    const elector = recreated()
    elector.stallTo(40_000)
    elector.observe({ ...elector.stored(4n) })
    elector.passTo(40_000)
    expect(elector.all('begin-term')).toEqual([])
  })

  test('leads with the version of the acquiring write as epoch, also when it was renewed before acting', () => {
    const elector = recreated()
    holdFor(elector, 16_000)
    expect(elector.all('begin-term')).toMatchObject([{ epoch: 3n }])
  })

  test('is held for the duration that the deleted lease stated, if that is longer than its own', () => {
    const elector = new PureElector()
    elector.follow(lease({ version: 1n, leaseDurationSeconds: 30 }))
    elector.now = 1000
    elector.observe({ kind: 'absent', version: 2n })
    elector.acknowledge(3n)
    expect(elector.as('reserving').actAt).toBe(31_000)
  })

  test('that another replica created, with a shorter duration, is not acquired before the deleted lease would have expired', () => {
    const elector = new PureElector({ missingLease: 'wait' })
    elector.random = 0.5
    elector.follow(lease({ version: 1n, leaseDurationSeconds: 30 }))
    elector.now = 1000
    elector.observe({ kind: 'absent', version: 2n })
    elector.observe(lease({ version: 3n, holderIdentity: 'brief', leaseDurationSeconds: 4, acquireTime: AFTER }))
    elector.passTo(30_999)
    expect(elector.all('write')).toEqual([])
    elector.passTo(32_000)
    expect(elector.lastWrite.write.purpose).toBe('acquire')
  })

  test('protects the leader of the deleted lease also when several replicas create it, acquire it and do not act', () => {
    const elector = new PureElector()
    elector.random = 0.5
    elector.follow(lease({ version: 1n, leaseDurationSeconds: 30 }))
    const brief = { holderIdentity: 'brief', leaseDurationSeconds: 4, acquireTime: AFTER }
    elector.observe(lease({ version: 3n, ...brief }))
    elector.observe(lease({ version: 4n, ...brief, holderIdentity: 'second', acquireTime: LATER }))
    elector.now = 6000
    elector.observe({ kind: 'absent', version: 5n })
    elector.passTo(8000)
    elector.acknowledge(6n)
    expect(elector.as('reserving').actAt).toBe(30_000)
  })

  test('is acquired at once after another replica created it, acted and released it', () => {
    const elector = new PureElector()
    elector.random = 0.5
    elector.follow(lease({ version: 1n, leaseDurationSeconds: 30 }))
    elector.observe({ kind: 'absent', version: 2n })
    elector.observe(lease({ version: 3n, holderIdentity: 'brief', leaseDurationSeconds: 4, acquireTime: AFTER }))
    elector.observe(lease({ version: 4n, holderIdentity: '', leaseDurationSeconds: 1, acquireTime: LATER }))
    elector.passTo(1000)
    expect(elector.lastWrite.write).toMatchObject({ purpose: 'acquire', base: { version: 4n } })
  })

  /** Saw the lease, saw it deleted at 1000, created it again as version 3. */
  function recreated(): PureElector {
    const elector = new PureElector()
    elector.follow(lease({ version: 1n }))
    elector.now = 1000
    elector.observe({ kind: 'absent', version: 2n })
    elector.acknowledge(3n)
    elector.as('reserving')
    return elector
  }

  /** Acknowledges every renewal up to the given time. */
  function holdFor(elector: PureElector, until: number): void {
    for (let version = 10n + BigInt(elector.all('write').length); elector.now < until;) {
      elector.passTo(Math.min(elector.now + 100, until))
      const { state } = elector
      if ('hold' in state && state.hold.request.kind === 'writing') elector.acknowledge(version++)
    }
  }
})

test('A follower that is cut off for hours remembers no more of its writes than may still take effect', () => {
  const elector = acquiring()
  for (let round = 0; round < 1000; round++) {
    elector.stallTo(elector.now + 2500)
    if (elector.state.kind === 'acquiring') elector.failWrite('unknown-outcome')
    else if (elector.as('following').reading === undefined) elector.send({ kind: 'wake' })
    else elector.failRead('unknown-outcome')
  }
  expect(elector.all('write').length).toBeGreaterThan(100)
  expect('outstanding' in elector.state && elector.state.outstanding.length).toBeLessThanOrEqual(32)
})

test('A write that takes effect after 30 more without an answer is still known as a write of this process', () => {
  const elector = acquiring()
  const first = elector.stored(2n)
  for (let more = 0; more <= 30; more++) {
    elector.failWrite('unknown-outcome')
    while (elector.state.kind !== 'acquiring') {
      elector.passTo(elector.now + 500)
      if (elector.state.kind === 'following' && elector.state.reading !== undefined) elector.failRead('unreachable')
    }
  }
  elector.observe(first)
  elector.as('acquiring')
  expect(elector.lastWrite.write).toMatchObject({ base: { version: 2n } })
})

test('a configuration is not changed by the elector', () => {
  const before = structuredClone(CONFIG)
  new PureElector().lead().passTo(60_000)
  expect(CONFIG).toEqual(before)
})
