import { describe, expect, onTestFinished, test } from 'vitest'
import type { WedgedPolicy } from '../../src/election/machine/config.ts'
import type { WedgedError } from '../../src/candidacy/wedged-error.ts'
import { Replica, type ReplicaOptions, untilEnd } from '../support/replica.ts'
import { never } from '../support/never.ts'

/** A leader with a task that ends only when the test says so. */
async function withStuckTask(options: ReplicaOptions = {}) {
  const stuck = Promise.withResolvers<void>()
  onTestFinished(() => stuck.resolve())
  const replica = new Replica({ timing: { drainTimeoutMs: 5000, abortGraceMs: 2000 }, ...options })
  let terms = 0
  replica.runs(async (term) => {
    terms += 1
    if (terms === 1) void term.spawn('export', () => stuck.promise)
    await untilEnd(term)
  })
  await replica.start()
  return { replica, finish: () => stuck.resolve() }
}

const WEDGED = 'did not drain in time'

describe('A drain that does not end', () => {
  test('is reported with every stuck task: name, controller, age and where it was started', async () => {
    const { replica } = await withStuckTask()
    await replica.clock.advance(1000)
    void replica.candidacy.stepDown()
    await replica.clock.advance(7000)
    const [event] = replica.all('wedged')
    expect(event?.tasks).toEqual([
      {
        name: 'export',
        controller: 'janitor',
        ageMs: 8000,
        spawnedAt: expect.stringMatching(/wedged\.test\.ts:\d+:\d+$/),
      },
    ])
    expect(replica.fatals).toHaveLength(1)
    const error = replica.fatals[0] as WedgedError
    expect(error).toMatchObject({ code: 'WEDGED', tasks: event?.tasks })
    expect(error.message).toMatch(
      /^The term with epoch 1 on `lease` did not drain in time; still running: janitor\/export \(8000 ms, started at .*wedged\.test\.ts:\d+:\d+\)$/,
    )
    expect(replica.candidacy.state).toMatchObject({ kind: 'wedged', epoch: 1n })
  })

  test('first gives the tasks their time, then aborts them, then reports them', async () => {
    const { replica } = await withStuckTask()
    void replica.candidacy.stepDown()
    await replica.clock.advance(4999)
    expect(await replica.unhealthy()).toEqual([])
    await replica.clock.advance(2000)
    expect(replica.all('wedged')).toEqual([])
    await replica.clock.advance(1)
    expect(await replica.unhealthy()).toMatchObject([expect.stringContaining(WEDGED)])
  })

  test('has stuck tasks from the moment on at which it is wedged, and only then', async () => {
    const { replica, finish } = await withStuckTask({ onWedged: 'hold' })
    expect(replica.candidacy.liveTasks()).toHaveLength(2)
    expect(replica.candidacy.stuckTasks()).toEqual([])
    void replica.candidacy.stepDown()
    await replica.clock.advance(6999)
    expect(replica.candidacy.stuckTasks()).toEqual([])
    await replica.clock.advance(1)
    expect(replica.candidacy.stuckTasks()).toMatchObject([{ name: 'export', ageMs: 7000 }])
    finish()
    await replica.clock.advance(100)
    expect([replica.candidacy.liveTasks(), replica.candidacy.stuckTasks()]).toEqual([[], []])
    expect(new Replica().candidacy.stuckTasks()).toEqual([])
  })

  test.each<WedgedPolicy>(['exit', 'hold', 'abandon'])('never frees the lease under policy %s', async (onWedged) => {
    const { replica } = await withStuckTask({ onWedged })
    void replica.candidacy.stepDown({ cooldownMs: 1e9 })
    await replica.clock.advance(120_000)
    expect(replica.lock.writes.filter(({ holderIdentity }) => holderIdentity === '')).toEqual([])
    expect(replica.holder).toBe('me')
  })

  test('after an involuntary end is reported by the time at which the lease is over', async () => {
    const { replica } = await withStuckTask({ timing: {} })
    replica.lock.failure = 'unreachable'
    await replica.clock.advance(14_249)
    expect(replica.fatals).toEqual([])
    await replica.clock.advance(1)
    expect(replica.fatals).toMatchObject([{ code: 'WEDGED' }])
  })
})

describe('Under policy exit', () => {
  test('the gate closes when the process is to end', async () => {
    const terms: { readonly isHeld: () => boolean }[] = []
    const replica = new Replica({ timing: { drainTimeoutMs: 1000, abortGraceMs: 1000 } })
    replica.runs((term) => {
      terms.push(term)
      return never()
    })
    await replica.start()
    void replica.candidacy.stepDown()
    await replica.clock.advance(1999)
    expect(terms[0]?.isHeld()).toBe(true)
    await replica.clock.advance(1)
    expect(terms[0]?.isHeld()).toBe(false)
    expect(replica.fatals).toHaveLength(1)
  })
})

describe('Under policy hold', () => {
  test('a voluntary end keeps the lease and stays unhealthy, and is over when the task ends after all', async () => {
    const { replica, finish } = await withStuckTask({ onWedged: 'hold' })
    const result = replica.candidacy.stepDown()
    await replica.clock.advance(120_000)
    expect(replica.fatals).toEqual([])
    expect(replica.holder).toBe('me')
    expect(replica.candidacy.remainingMs()).toBeGreaterThan(10_000)
    expect(await replica.unhealthy()).toHaveLength(1)
    finish()
    await replica.clock.advance(100)
    expect(await result).toMatchObject({ kind: 'stepped-down', outcome: 'released', drain: 'wedged' })
    expect(await replica.unhealthy()).toEqual([])
  })

  test('an involuntary end exits', async () => {
    const { replica } = await withStuckTask({ onWedged: 'hold' })
    replica.lock.failure = 'unreachable'
    await replica.clock.advance(15_000)
    expect(replica.fatals).toMatchObject([{ code: 'WEDGED' }])
  })

  test('a lease that is lost while it is held exits', async () => {
    const { replica } = await withStuckTask({ onWedged: 'hold' })
    void replica.candidacy.stepDown()
    await replica.clock.advance(30_000)
    expect(replica.fatals).toEqual([])
    replica.store.delete('lease')
    await replica.clock.runAllMicrotasks()
    expect(replica.fatals).toMatchObject([{ code: 'WEDGED' }])
  })
})

describe('Under policy abandon', () => {
  test('the candidacy goes on without the task, leaves the lease, and tells what it left', async () => {
    const { replica } = await withStuckTask({ onWedged: 'abandon' })
    const result = replica.candidacy.stepDown({ cooldownMs: 1000 })
    await replica.clock.advance(7000)
    expect(await result).toMatchObject({ kind: 'stepped-down', outcome: 'expired', drain: 'wedged' })
    expect(replica.fatals).toEqual([])
    expect(replica.candidacy.state.kind).toBe('following')
  })

  test('the others get the first chance: the lease is not taken again before it has expired', async () => {
    const { replica } = await withStuckTask({ onWedged: 'abandon' })
    void replica.candidacy.stepDown({ cooldownMs: 1000 })
    await replica.clock.advance(7000 + 15_000)
    expect(replica.all('term-began')).toHaveLength(1)
    await replica.clock.advance(1100)
    expect(replica.all('term-began')).toHaveLength(2)
  })

  test('the others get the first chance after an involuntary end, too', async () => {
    const { replica } = await withStuckTask({ onWedged: 'abandon', timing: {} })
    replica.lock.failure = 'unreachable'
    await replica.clock.advance(14_250)
    expect(replica.all('term-over')).toMatchObject([{ reason: 'renew-deadline', outcome: 'expired', drain: 'wedged' }])
    replica.lock.failure = undefined
    await replica.clock.advance(14_999)
    expect(replica.all('term-began')).toHaveLength(1)
    await replica.clock.advance(1)
    expect(replica.all('term-began')).toHaveLength(2)
  })

  test('the end of a term that was left does not shorten the drain of the next term', async () => {
    const [stuck, busy] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const replica = new Replica({
      timing: { drainTimeoutMs: 5000, abortGraceMs: 2000 },
      cleanupTimeoutMs: 1000,
      onWedged: 'abandon',
    })
    replica.runs(async (term) => {
      if (term.epoch === 1n) term.defer(never)
      await (term.epoch === 1n ? stuck : busy).promise
    })
    await replica.start()
    void replica.candidacy.stepDown({ cooldownMs: 0 })
    await replica.clock.advance(30_000)
    expect(replica.all('term-began')).toHaveLength(2)
    const result = replica.candidacy.stepDown({ cooldownMs: 1e6 })
    stuck.resolve()
    await replica.clock.advance(6000)
    expect(replica.all('wedged')).toHaveLength(1)
    busy.resolve()
    await replica.clock.advance(100)
    expect(await result).toMatchObject({ outcome: 'released', drain: 'aborted' })
  })

  test('a task that ends later than its term disturbs nobody', async () => {
    const { replica, finish } = await withStuckTask({ onWedged: 'abandon' })
    void replica.candidacy.stepDown({ cooldownMs: 0 })
    await replica.clock.advance(30_000)
    expect(replica.all('term-began')).toHaveLength(2)
    finish()
    await replica.clock.advance(10_000)
    expect(replica.all('term-over')).toHaveLength(1)
    expect(replica.candidacy.state.kind).toBe('leading')
  })
})
