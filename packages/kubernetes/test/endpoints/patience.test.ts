import { describe, expect, test } from 'vitest'
import { getEventListeners } from 'node:events'
import { Absences } from '../../src/endpoints/absences.ts'
import type { WantedEndpoint } from '../../src/endpoints/endpoint-note.ts'
import { OtherRuns } from '../../src/endpoints/other-runs.ts'
import { Patience } from '../../src/endpoints/patience.ts'
import { pollReadiness } from '../../src/endpoints/readiness-poll.ts'
import type { SliceEndpoint } from '../../src/endpoints/slice-endpoint.ts'
import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'

describe('the patience of a replica', () => {
  test.each([
    ['own', 0, 0],
    ['gone', 250, 50],
    ['repair', 1000, 50],
  ] as const)(
    'with a difference of urgency %s is %d ms, and %d ms more for each replica before it, up to 20',
    (urgency, first, step) => {
      const patience = new Patience()
      const dueAt = (rank: number) => patience.dueAt(urgency, 'x', { now: 100, rank })
      expect([dueAt(0), dueAt(1), dueAt(20), dueAt(21)]).toEqual([
        100 + first,
        100 + first + step,
        100 + first + 20 * step,
        100 + first + 20 * step,
      ])
    },
  )

  test('begins again with another difference, or after none, and for each urgency by itself', () => {
    const patience = new Patience()
    expect(patience.dueAt('gone', 'x', { now: 100, rank: 0 })).toBe(350)
    expect(patience.dueAt('gone', 'x', { now: 200, rank: 0 })).toBe(350)
    expect(patience.dueAt('repair', 'x', { now: 200, rank: 0 })).toBe(1200)
    expect(patience.dueAt('gone', 'y', { now: 300, rank: 0 })).toBe(550)
    expect(patience.dueAt('gone', undefined, { now: 400, rank: 0 })).toBe(Infinity)
    expect(patience.dueAt('gone', 'y', { now: 500, rank: 0 })).toBe(750)
    expect(patience.dueAt('repair', 'x', { now: 500, rank: 0 })).toBe(1200)
  })
})

describe('a member without an entry', () => {
  const entry = (address: string): SliceEndpoint => ({
    address,
    ready: true,
    serving: true,
    terminating: false,
    nodeName: undefined,
    zone: undefined,
  })
  const wanted = (address: string, renewedAt: number): WantedEndpoint => ({ endpoint: entry(address), renewedAt })

  test('is doubtful until it renews after its entry was seen to be missing', () => {
    const absences = new Absences()
    expect(absences.doubtful([wanted('a', 0), wanted('b', 0)], [entry('b')], 100)).toEqual(new Set(['a']))
    expect(absences.doubtful([wanted('a', 100)], [], 200)).toEqual(new Set(['a']))
    expect(absences.doubtful([wanted('a', 101)], [], 200)).toEqual(new Set())
  })

  test('must renew after the first consistent read since then', () => {
    const absences = new Absences()
    absences.doubtful([wanted('a', 0)], [], 100)
    absences.confirm(150)
    absences.confirm(300)
    expect(absences.doubtful([wanted('a', 150)], [], 400)).toEqual(new Set(['a']))
    expect(absences.doubtful([wanted('a', 151)], [], 400)).toEqual(new Set())
  })

  test('begins again after it had an entry, or after it wanted none', () => {
    const absences = new Absences()
    const isDoubtful = (renewedAt: number, now: number) => absences.doubtful([wanted('a', renewedAt)], [], now).has('a')
    expect(isDoubtful(0, 100)).toBe(true)
    absences.confirm(110)
    absences.doubtful([wanted('a', 0)], [entry('a')], 200)
    expect(isDoubtful(200, 300)).toBe(true)
    absences.confirm(310)
    expect(isDoubtful(310, 320)).toBe(true)
    absences.doubtful([], [], 400)
    expect(isDoubtful(400, 500)).toBe(true)
    expect(isDoubtful(501, 600)).toBe(false)
  })
})

describe('the runs of other controllers', () => {
  const isDone = async (runs: OtherRuns, signal = new AbortController().signal) => {
    let done = false
    void runs.done(signal).then(() => (done = true))
    await new VirtualClock().runAllMicrotasks()
    return () => done
  }

  test('are waited for until none is left', async () => {
    const [clock, runs] = [new VirtualClock(), new OtherRuns()]
    expect((await isDone(runs))()).toBe(true)
    const ends = [runs.begin(), runs.begin()]
    const waiting = await isDone(runs)
    ends[0]?.()
    await clock.runAllMicrotasks()
    expect(waiting()).toBe(false)
    ends[1]?.()
    await clock.runAllMicrotasks()
    expect(waiting()).toBe(true)
    expect((await isDone(runs))()).toBe(true)
  })

  test('are not waited for after the signal', async () => {
    const [clock, runs, stopping] = [new VirtualClock(), new OtherRuns(), new AbortController()]
    runs.begin()
    const waiting = await isDone(runs, stopping.signal)
    expect(waiting()).toBe(false)
    stopping.abort()
    await clock.runAllMicrotasks()
    expect(waiting()).toBe(true)
  })

  test('leave no listener on the signal', async () => {
    const [clock, runs, { signal }] = [new VirtualClock(), new OtherRuns(), new AbortController()]
    const end = runs.begin()
    const waiting = await isDone(runs, signal)
    end()
    await clock.runAllMicrotasks()
    expect([waiting(), getEventListeners(signal, 'abort').length]).toEqual([true, 0])
  })
})

describe('the readiness of a replica', () => {
  /** What was asked when, and what changed when. */
  function polled(isReady: (asked: number) => boolean | Promise<boolean>) {
    const clock = new VirtualClock()
    const [asked, changes]: [number[], string[]] = [[], []]
    const stopping = new AbortController()
    const polling = pollReadiness(
      {
        clock,
        isReady: () => isReady(asked.push(clock.now())),
        onChange: (is) => changes.push(`${is} at ${clock.now()}`),
      },
      stopping.signal,
    )
    const stop = async () => {
      stopping.abort()
      await polling
    }
    return { clock, asked, changes, stopping, stop }
  }

  test('is asked every 100 ms until it is ready, then every 5 s', async () => {
    const { clock, asked, changes, stop } = polled((count) => count > 3)
    await clock.advance(10_300)
    expect(asked).toEqual([0, 100, 200, 300, 5300, 10_300])
    expect(changes).toEqual(['true at 300'])
    await stop()
    expect(clock.pendingTimers).toBe(0)
  })

  test('ends with three answers in a row that say no, or fail', async () => {
    const answers = [true, false, false, true, false, false, false, false, true]
    const { clock, changes, stop } = polled((count) => {
      const answer = answers[count - 1] ?? true
      if (!answer && count % 2 === 0) throw new Error('cold')
      return Promise.resolve(answer)
    })
    await clock.advance(35_000)
    expect(changes).toEqual(['true at 0', 'false at 30000', 'true at 30200'])
    await stop()
  })

  test('does not change after the end', async () => {
    const answer = Promise.withResolvers<boolean>()
    const { clock, asked, changes, stopping } = polled(() => answer.promise)
    await clock.advance(100)
    stopping.abort()
    answer.resolve(true)
    await clock.advance(10_000)
    expect([asked, changes]).toEqual([[0], []])
    expect(clock.pendingTimers).toBe(0)
  })
})
