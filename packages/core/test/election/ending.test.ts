import { describe, expect, test } from 'vitest'
import type { WedgedPolicy } from '../../src/election/machine/config.ts'
import type { ElectorState } from '../../src/election/machine/state.ts'
import { resolveTimingOptions } from '../../src/election/timing-options.ts'
import { kinds, lease, ME, purposes, PureElector } from './pure-elector.ts'

const leading = () => new PureElector().lead()
const STEP_DOWN = { kind: 'step-down', reason: 'step-down', cooldownMs: 4800 } as const

describe('A voluntary end', () => {
  test('goes on renewing until the term is empty', () => {
    const elector = leading()
    elector.send(STEP_DOWN)
    let version = 3n
    elector.passTo(25)
    elector.acknowledge(version++)
    for (let now = 2020; now <= 18_020; now += 2000) {
      expect(purposes(elector.passTo(now))).toEqual(['renew'])
      expect(elector.acknowledge(version++)).toContainEqual({ kind: 'extend-validity', validUntil: now + 14_250 })
    }
    expect(elector.state.kind).toBe('draining')
  })

  test('aborts what is left after the drain timeout, and reports it as wedged after the grace', () => {
    const elector = renewingDrain()
    expect(passRenewing(elector, 19_999)).toEqual([])
    expect(passRenewing(elector, 20_000)).toEqual(['hard-abort'])
    expect(passRenewing(elector, 23_999)).toEqual([])
    expect(passRenewing(elector, 24_000)).toEqual(['wedged'])
  })

  test('without time for tasks still lets them notice before it aborts them', () => {
    const elector = new PureElector({ timing: resolveTimingOptions({ drainTimeoutMs: 0 }) }).lead()
    expect(kinds(elector.send(STEP_DOWN))).not.toContain('hard-abort')
    expect(kinds(elector.passTo(0))).toContain('hard-abort')
  })

  test('gives cleanups the time that they may take, however late they begin', () => {
    const elector = renewingDrain()
    passRenewing(elector, 23_000)
    elector.send({ kind: 'cleaning' })
    expect(passRenewing(elector, 26_999)).toEqual([])
    expect(passRenewing(elector, 27_000)).toEqual(['wedged'])
  })

  test.each<[WedgedPolicy, readonly string[], ElectorState['kind']]>([
    ['exit', ['wedged', 'exit'], 'draining'],
    ['hold', ['wedged'], 'draining'],
    ['abandon', ['wedged', 'term-over'], 'following'],
  ])('that is wedged goes on by its policy: %s', (onWedged, effects, kind) => {
    const elector = new PureElector({ onWedged }).lead()
    elector.send(STEP_DOWN)
    expect(kinds(elector.send({ kind: 'cleanup-overdue' }))).toEqual(effects)
    expect(elector.state.kind).toBe(kind)
    if (kind === 'following') expect(elector.all('term-over')).toMatchObject([{ outcome: 'expired' }])
  })

  test('never releases over a live task, however long it lives, and releases when it has ended', () => {
    const elector = renewingDrain()
    passRenewing(elector, 300_000)
    expect(elector.all('write').every(({ write }) => write.purpose === 'renew' || write.purpose === 'acquire')).toBe(
      true,
    )
    expect(elector.all('wedged')).toHaveLength(1)
    expect(purposes(elector.send({ kind: 'drained' }))).toEqual(['release'])
  })

  test('releases once the term is empty, by compare-and-swap on its own version', () => {
    const elector = leading()
    elector.send(STEP_DOWN)
    expect(purposes(elector.send({ kind: 'drained' }))).toEqual(['release'])
    expect(elector.lastWrite.write).toEqual({
      purpose: 'release',
      base: expect.objectContaining({ version: 2n, record: expect.objectContaining({ holderIdentity: ME }) }),
      record: {
        holderIdentity: '',
        leaseDurationSeconds: 1,
        acquireTime: '2026-01-01T12:00:00.000001Z',
        renewTime: '2026-01-01T12:00:00.000001Z',
        leaseTransitions: 4,
        annotations: expect.any(Object),
      },
    })
    expect(elector.acknowledge(3n)).toEqual([
      { kind: 'term-over', outcome: 'released' },
      { kind: 'leader-observed', identity: '' },
    ])
  })

  test('waits with the release for a renewal under way, so that the two cannot collide', () => {
    const elector = leading()
    elector.send(STEP_DOWN)
    elector.passTo(2000)
    expect(elector.send({ kind: 'drained' })).toEqual([])
    elector.now = 2100
    expect(purposes(elector.acknowledge(3n))).toEqual(['release'])
    expect(elector.lastWrite.write.base?.version).toBe(3n)
  })

  test('releases on what a renewal of unknown outcome turns out to have left', () => {
    const elector = leading()
    elector.send(STEP_DOWN)
    elector.passTo(2000)
    const renewal = elector.stored(3n)
    elector.send({ kind: 'drained' })
    expect(kinds(elector.failWrite('unknown-outcome'))).toEqual(['request-failed', 'read'])
    expect(purposes(elector.answerRead(renewal))).toEqual(['release'])
    expect(elector.lastWrite.write.base?.version).toBe(3n)
  })

  test('is over without a write when the deadline comes while a renewal is waited for', () => {
    const elector = leading()
    elector.send(STEP_DOWN)
    elector.passTo(8000)
    elector.send({ kind: 'drained' })
    const effects = elector.passTo(10_000)
    expect(effects).toContainEqual({ kind: 'term-over', outcome: 'expired' })
    expect(purposes(effects)).toEqual([])
  })

  test('becomes involuntary when the lease is lost meanwhile', () => {
    const elector = leading()
    elector.send(STEP_DOWN)
    expect(elector.observe(lease({ version: 3n }))).toEqual([
      { kind: 'end-term', reason: 'superseded', voluntary: false },
      { kind: 'close-gate' },
      { kind: 'hard-abort' },
    ])
    expect(purposes(elector.send({ kind: 'drained' }))).toEqual([])
    expect(elector.all('term-over')).toEqual([{ kind: 'term-over', outcome: 'lost' }])
  })

  test('is begun once: a second step-down changes nothing', () => {
    const elector = leading()
    elector.send(STEP_DOWN)
    const before = elector.state
    expect(elector.send({ ...STEP_DOWN, cooldownMs: 99_999 })).toEqual([])
    expect(elector.state).toEqual(before)
  })

  test('of a stop that comes during a step-down ends in a stop', () => {
    const elector = leading()
    elector.send(STEP_DOWN)
    elector.send({ kind: 'stop' })
    elector.send({ kind: 'drained' })
    expect(kinds(elector.acknowledge(3n))).toEqual(['term-over', 'leader-observed', 'stopped'])
  })

  test('leaves the lease to expire when releases are switched off', () => {
    const elector = new PureElector({ releaseOnExit: false }).lead()
    elector.send({ kind: 'stop' })
    expect(elector.send({ kind: 'drained' })).toEqual([{ kind: 'term-over', outcome: 'expired' }, { kind: 'stopped' }])
  })
})

describe('After a step-down', () => {
  test('the replica leaves the lease to others for the cool-down and takes it again when nobody came', () => {
    const elector = steppedDown()
    expect(purposes(elector.passTo(4799))).toEqual([])
    expect(purposes(elector.passTo(4800))).toEqual(['acquire'])
  })

  test('the cool-down is over once the successor that the transfer named has renewed', () => {
    const elector = new PureElector().lead()
    elector.send({ kind: 'step-down', reason: 'step-down', cooldownMs: 5000 })
    elector.send({ kind: 'drained' })
    elector.acknowledge(3n)
    const taken = { holderIdentity: 'other', acquireTime: '2026-01-01T12:00:01.000000Z' }
    elector.observe(lease({ version: 4n, ...taken, renewTime: '2026-01-01T12:00:01.000000Z' }))
    elector.observe(lease({ version: 5n, ...taken, renewTime: '2026-01-01T12:00:02.000000Z' }))
    elector.observe(lease({ version: 6n, holderIdentity: '', acquireTime: '2026-01-01T12:00:03.000000Z' }))
    elector.passTo(elector.now + 200)
    expect(purposes(elector.all('write')).at(-1)).toBe('acquire')
  })

  test('the cool-down is over once somebody else leads', () => {
    const elector = steppedDown()
    elector.now = 100
    elector.observe(lease({ version: 4n, leaseDurationSeconds: 1 }))
    expect(purposes(elector.passTo(1099))).toEqual([])
    expect(purposes(elector.passTo(1100))).toEqual(['acquire'])
  })

  test('with releases switched off the others get the first chance: the cool-down begins when the lease has expired', () => {
    const elector = new PureElector({ releaseOnExit: false }).lead()
    elector.send(STEP_DOWN)
    elector.send({ kind: 'drained' })
    expect(purposes(elector.passTo(19_799))).toEqual([])
    expect(purposes(elector.passTo(19_800))).toEqual(['acquire'])
  })

  test('whose drain ended in a loss of the lease, the cool-down still holds', () => {
    const elector = leading()
    elector.send({ kind: 'step-down', reason: 'controller-failed', cooldownMs: 60_000 })
    elector.passTo(2000)
    elector.failWrite('unreachable')
    elector.send({ kind: 'lost', reason: 'renew-deadline' })
    const effects = elector.send({ kind: 'drained' })
    expect(purposes([...effects, ...elector.passTo(61_999)])).toEqual([])
  })

  test('whose release came to nothing, the others get the first chance', () => {
    const elector = leading()
    elector.send(STEP_DOWN)
    elector.send({ kind: 'drained' })
    while (elector.state.kind === 'releasing') {
      if (elector.state.hold.request.kind === 'writing') elector.failWrite('unreachable')
      elector.passTo(elector.now + 100)
    }
    const endedAt = elector.now
    expect(elector.all('term-over')).toEqual([{ kind: 'term-over', outcome: 'expired' }])
    expect(purposes(elector.passTo(endedAt + 15_000 + 4700))).toEqual([])
    expect(purposes(elector.passTo(endedAt + 15_000 + 4800))).toEqual(['acquire'])
  })

  function steppedDown(): PureElector {
    const elector = leading()
    elector.send(STEP_DOWN)
    elector.send({ kind: 'drained' })
    elector.acknowledge(3n)
    return elector
  }
})

describe('A release', () => {
  test('of unknown outcome is read back, and the term stays over whatever is found', () => {
    const elector = releasing()
    expect(kinds(elector.failWrite('unknown-outcome'))).toEqual(['request-failed', 'read'])
    elector.answerRead(elector.as('releasing').hold.lease)
    expect(elector.state.kind).toBe('releasing')
    expect(purposes(elector.passTo(1000))).toEqual(['release'])
    elector.acknowledge(3n)
    expect(elector.all('begin-term')).toHaveLength(1)
    expect(elector.all('term-over')).toEqual([{ kind: 'term-over', outcome: 'released' }])
  })

  test('of unknown outcome that is found to have happened is done', () => {
    const elector = releasing()
    const freed = elector.stored(3n)
    elector.failWrite('unknown-outcome')
    expect(elector.answerRead(freed)).toContainEqual({ kind: 'term-over', outcome: 'released' })
  })

  test('is done although the store has changed what it wrote, so that others need not wait', () => {
    const elector = releasing()
    const released = elector.stored(3n)
    const lease = { ...released, record: { ...released.record, leaseDurationSeconds: 0 } }
    expect(elector.answerWrite({ kind: 'written', lease })).toContainEqual({ kind: 'term-over', outcome: 'released' })
  })

  test('that the watch shows needs no answer', () => {
    const elector = releasing()
    expect(elector.observe(elector.stored(3n))).toContainEqual({ kind: 'term-over', outcome: 'released' })
    expect(elector.acknowledge(3n)).toEqual([])
  })

  test('that conflicts with an edit of annotations is sent again on the edited version', () => {
    const elector = releasing()
    const edited = { ...elector.as('releasing').hold.lease, version: 3n }
    expect(kinds(elector.failWrite('conflict'))).toEqual(['request-failed', 'read'])
    expect(purposes(elector.answerRead(edited))).toEqual(['release'])
    expect(elector.lastWrite.write.base?.version).toBe(3n)
  })

  test('that conflicts is sent again at once when the watch shows the edit before the read does', () => {
    const elector = releasing()
    const edited = { ...elector.as('releasing').hold.lease, version: 3n }
    elector.failWrite('conflict')
    elector.observe(edited)
    expect(purposes(elector.answerRead(edited))).toEqual(['release'])
    expect(elector.lastWrite.write.base?.version).toBe(3n)
  })

  test('is never sent over another holder', () => {
    const elector = releasing()
    elector.failWrite('conflict')
    const effects = elector.answerRead(lease({ version: 3n }))
    expect(purposes(effects)).toEqual([])
    expect(effects).toContainEqual({ kind: 'term-over', outcome: 'lost' })
    expect(purposes(elector.passTo(14_000))).toEqual([])
  })

  test('is never sent over a later record under the same identity', () => {
    const elector = releasing()
    elector.failWrite('conflict')
    const twin = lease({ version: 3n, holderIdentity: ME, acquireTime: '2026-01-01T12:00:09.000000Z' })
    expect(purposes(elector.answerRead(twin))).toEqual([])
    expect(elector.all('term-over')).toEqual([{ kind: 'term-over', outcome: 'lost' }])
  })

  test('that somebody has renewed without a holder since names no successor', () => {
    const elector = releasing()
    const { record } = elector.stored(3n)
    elector.failWrite('unknown-outcome')
    elector.answerRead(lease({ version: 4n, ...record, renewTime: '2026-01-01T12:00:09.000000Z' }))
    expect(elector.all('term-over')).toEqual([{ kind: 'term-over', outcome: 'lost' }])
  })

  test('is given up when the lease is gone', () => {
    const elector = releasing()
    expect(elector.failWrite('not-found')).toContainEqual({ kind: 'term-over', outcome: 'lost' })
  })

  test('is given up after two request timeouts, and the lease is left', () => {
    const elector = releasing()
    elector.failWrite('unreachable')
    for (let now = 500; now < 5000; now += 100) {
      elector.passTo(now)
      if (elector.as('releasing').hold.request.kind === 'writing') elector.failWrite('unreachable')
    }
    expect(elector.passTo(5000)).toContainEqual({ kind: 'term-over', outcome: 'expired' })
  })

  test('is not sent any more once the lease is over by the clock', () => {
    const elector = leading()
    elector.send({ kind: 'stop' })
    elector.stallTo(14_250)
    const effects = elector.send({ kind: 'drained' })
    expect(purposes(effects)).toEqual([])
    expect(effects).toContainEqual({ kind: 'term-over', outcome: 'expired' })
  })

  test('whose stop comes while it is under way ends in a stop', () => {
    const elector = leading()
    elector.send(STEP_DOWN)
    elector.send({ kind: 'drained' })
    elector.send({ kind: 'stop' })
    expect(kinds(elector.acknowledge(3n))).toContain('stopped')
  })

  function releasing(): PureElector {
    const elector = leading()
    elector.send({ kind: 'stop' })
    elector.send({ kind: 'drained' })
    elector.as('releasing')
    return elector
  }
})

describe('An involuntary end', () => {
  test.each<[WedgedPolicy, readonly string[], ElectorState['kind']]>([
    ['exit', ['wedged', 'exit'], 'aborting'],
    ['hold', ['wedged', 'exit'], 'aborting'],
    ['abandon', ['wedged', 'term-over'], 'following'],
  ])('that is wedged ends the process, unless its policy is to go on: %s', (onWedged, effects, kind) => {
    const elector = new PureElector({ onWedged }).lead()
    elector.send({ kind: 'lost', reason: 'elector-failed' })
    expect(kinds(elector.send({ kind: 'cleanup-overdue' }))).toEqual(effects)
    expect(elector.state.kind).toBe(kind)
  })

  test('writes nothing any more and leaves the lease', () => {
    const elector = deadlineMissed()
    expect(purposes(elector.passTo(60_000))).toEqual([])
    expect(elector.send({ kind: 'drained' })).toContainEqual({ kind: 'term-over', outcome: 'expired' })
  })

  test('of a missed deadline aborts in time for the grace to end when the lease does, and is wedged then', () => {
    const elector = deadlineMissed()
    expect(kinds(elector.passTo(10_249))).toEqual([])
    expect(kinds(elector.passTo(10_250))).toEqual(['hard-abort'])
    expect(kinds(elector.passTo(14_249))).toEqual([])
    expect(kinds(elector.passTo(14_250))).toEqual(['wedged', 'exit'])
  })

  test('ends the process once, whatever happens to the work after it was wedged', () => {
    const elector = deadlineMissed()
    elector.passTo(14_250)
    elector.send({ kind: 'wake' })
    elector.send({ kind: 'cleaning' })
    expect(elector.all('exit')).toHaveLength(1)
  })

  test('of a superseded leader is wedged after the grace', () => {
    const elector = leading()
    elector.observe(lease({ version: 3n }))
    expect(kinds(elector.passTo(3999))).toEqual([])
    expect(kinds(elector.passTo(4000))).toEqual(['wedged', 'exit'])
  })

  test('of a superseded leader is wedged when its lease is over, if that is before the grace is', () => {
    const elector = leading()
    elector.passTo(2000)
    elector.failWrite('unreachable')
    elector.stallTo(12_000)
    elector.observe(lease({ version: 3n }))
    expect(kinds(elector.passTo(14_249))).toEqual([])
    expect(kinds(elector.passTo(14_250))).toEqual(['wedged', 'exit'])
  })

  test('of a replica that slept past its lease aborts at once, and gives the tasks the grace to react', () => {
    const elector = leading()
    elector.stallTo(20_000)
    expect(kinds(elector.send({ kind: 'wake' }))).toEqual(['end-term', 'hard-abort'])
    expect(kinds(elector.passTo(23_999))).toEqual([])
    expect(kinds(elector.passTo(24_000))).toEqual(['wedged', 'exit'])
  })

  test('becomes one of a superseded leader when another holder shows up: the gate closes and everything is aborted at once', () => {
    const elector = leading()
    elector.observe({ kind: 'absent', version: 3n })
    elector.now = 100
    expect(elector.observe(lease({ version: 4n }))).toEqual([{ kind: 'close-gate' }, { kind: 'hard-abort' }])
    expect(kinds(elector.passTo(4099))).toEqual([])
    expect(kinds(elector.passTo(4100))).toEqual(['wedged', 'exit'])
    expect(elector.send({ kind: 'drained' })).toContainEqual({ kind: 'term-over', outcome: 'lost' })
  })

  test('is not taken for a takeover when a late renewal of its own shows up', () => {
    const elector = leading()
    elector.passTo(2000)
    const late = elector.stored(3n)
    elector.failWrite('unreachable')
    elector.send({ kind: 'lost', reason: 'renew-deadline' })
    expect(elector.observe(late)).toEqual([])
    expect(elector.as('aborting').reason).toBe('renew-deadline')
  })

  test('is not taken for a takeover when the lease is deleted, or an older view of it comes late', () => {
    const elector = deadlineMissed()
    expect(elector.observe(lease({ version: 1n }))).toEqual([])
    expect(elector.observe({ kind: 'absent', version: 4n })).toEqual([])
    expect(elector.as('aborting').reason).toBe('renew-deadline')
  })

  test('is not shortened by an edit that leaves its time as it is', () => {
    const elector = leading()
    elector.send({ kind: 'lost', reason: 'stalled' })
    const edited = { ...elector.stored(3n), record: { ...elector.stored(3n).record, annotations: { edited: 'yes' } } }
    expect(elector.observe(edited)).toEqual([])
    expect(elector.as('aborting').observation).toMatchObject({ lease: { version: 3n } })
  })

  test('gives the tasks the whole grace from the moment on at which its lease is over', () => {
    const elector = leading()
    elector.stallTo(14_250)
    expect(kinds(elector.send({ kind: 'lost', reason: 'stalled' }))).toEqual(['end-term', 'hard-abort'])
    expect(kinds(elector.passTo(18_249))).toEqual([])
    expect(kinds(elector.passTo(18_250))).toEqual(['wedged', 'exit'])
  })

  test('that was wedged lets the others try first for a lease duration, although the rest of it has ended', () => {
    const elector = deadlineMissed()
    elector.passTo(14_250)
    elector.now = 20_000
    expect(purposes(elector.send({ kind: 'drained' }))).toEqual([])
    expect(purposes(elector.passTo(34_999))).toEqual([])
    expect(purposes(elector.passTo(35_000))).toEqual(['acquire'])
  })

  test.each([
    ['another replica has the acquire time of the term', { holderIdentity: 'other' }],
    ['its own identity has another acquire time', { acquireTime: '2026-01-01T12:00:01.000000Z' }],
  ])('is a takeover when %s', (_name, change) => {
    const elector = deadlineMissed()
    const own = elector.stored(3n)
    expect(elector.observe({ ...own, record: { ...own.record, ...change } })).toContainEqual({ kind: 'close-gate' })
    expect(elector.as('aborting').reason).toBe('superseded')
  })

  test('of a superseded leader gains no time when the lease changes hands once more', () => {
    const elector = leading()
    elector.observe(lease({ version: 3n }))
    elector.passTo(1000)
    expect(elector.observe(lease({ version: 4n, holderIdentity: 'third' }))).toEqual([])
    expect(kinds(elector.passTo(4000))).toEqual(['wedged', 'exit'])
  })

  test('of a deleted lease has lost it: nobody leads, and others do not wait until it expires', () => {
    const elector = leading()
    elector.observe({ kind: 'absent', version: 9n })
    expect(elector.send({ kind: 'drained' })).toEqual([
      { kind: 'term-over', outcome: 'lost', successor: undefined },
      { kind: 'leader-observed', identity: '' },
      expect.objectContaining({ kind: 'write' }),
    ])
  })

  test('takes its own lease again at once, as it has renewed it last', () => {
    const elector = leading()
    elector.passTo(2000)
    elector.acknowledge(3n)
    elector.send({ kind: 'lost', reason: 'elector-failed' })
    expect(purposes(elector.send({ kind: 'drained' }))).toEqual(['acquire'])
  })

  test('takes its own lease again when it is empty and nobody else came, as a new term with a greater epoch', () => {
    const elector = deadlineMissed()
    expect(purposes(elector.send({ kind: 'drained' }))).toEqual(['acquire'])
    elector.acknowledge(3n)
    expect(elector.all('begin-term').map(({ epoch }) => epoch)).toEqual([2n, 3n])
  })

  test('follows the one who took the lease meanwhile', () => {
    const elector = leading()
    elector.observe(lease({ version: 3n }))
    elector.now = 1000
    elector.observe(lease({ version: 4n, renewTime: '2026-01-01T12:00:01.000000Z' }))
    elector.send({ kind: 'drained' })
    expect(purposes(elector.passTo(15_999))).toEqual([])
    expect(purposes(elector.passTo(16_000))).toEqual(['acquire'])
  })

  test('ends in a stop when that was asked for meanwhile', () => {
    const elector = deadlineMissed()
    elector.send({ kind: 'stop' })
    expect(kinds(elector.send({ kind: 'drained' }))).toEqual(['term-over', 'stopped'])
  })

  function deadlineMissed(): PureElector {
    const elector = leading()
    elector.passTo(2000)
    elector.failWrite('unreachable')
    elector.stallTo(10_000)
    elector.send({ kind: 'wake' })
    expect(elector.as('aborting').reason).toBe('renew-deadline')
    return elector
  }
})

function renewingDrain(): PureElector {
  const elector = new PureElector({ timing: resolveTimingOptions() }).lead()
  elector.send(STEP_DOWN)
  return elector
}

/** Lets time pass, acknowledging every renewal; returns the kinds of what concerns the drain. */
function passRenewing(elector: PureElector, until: number): readonly string[] {
  const before = elector.effects.length
  while (elector.now < until) {
    elector.passTo(Math.min(elector.now + 100, until))
    const { state } = elector
    if ('hold' in state && state.hold.request.kind === 'writing') {
      elector.acknowledge(state.hold.lease.version + 1n)
    }
  }
  return kinds(elector.effects.slice(before)).filter((kind) => kind === 'hard-abort' || kind === 'wedged')
}
