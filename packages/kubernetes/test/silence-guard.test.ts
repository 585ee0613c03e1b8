import { describe, expect, test, vi } from 'vitest'
import { SilenceGuard } from '../src/reflector/silence-guard.ts'
import { ManualClock } from './support/manual-clock.ts'

/** Lets everything that is waiting on settled promises run. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve))

function guarded() {
  const clock = new ManualClock()
  const polls: number[] = []
  const lost: (Error | 'behind')[] = []
  let answer: () => Promise<'in-step' | 'behind'> = () => Promise.resolve('in-step')
  let behind = false
  const guard = new SilenceGuard({
    clock,
    silenceMs: 4000,
    poll: (timeoutMs) => {
      polls.push(timeoutMs)
      return answer()
    },
    isBehind: () => behind,
    lost: (cause) => lost.push(cause),
  })
  guard.start()
  return {
    clock,
    guard,
    polls,
    lost,
    answerWith: (next: typeof answer) => (answer = next),
    setBehind: (is: boolean) => (behind = is),
  }
}

describe('a silence guard', () => {
  test('does not poll while something is heard every 2 s, as often as a leader renews', async () => {
    const { clock, guard, polls } = guarded()
    for (let renewal = 0; renewal < 50; renewal++) {
      clock.advance(2000)
      guard.heard()
    }
    await settle()
    expect(polls).toEqual([])
  })

  test('sets no timer for what it hears: the present one sets the next one when it fires', async () => {
    const { clock, guard, polls } = guarded()
    using setTimer = vi.spyOn(clock, 'setTimer')
    guard.heard()
    clock.advance(2000)
    for (let event = 0; event < 3; event += 1) guard.heard()
    expect(setTimer).not.toHaveBeenCalled()
    expect(clock.pendingDelays).toEqual([500])
    clock.advance(500)
    expect(clock.pendingDelays).toEqual([2000])
    expect(polls).toEqual([])
  })

  test('polls once at a time, whatever it hears while a poll takes long', async () => {
    const { clock, guard, polls, answerWith } = guarded()
    answerWith(() => new Promise(() => {}))
    clock.advance(2500)
    guard.heard()
    clock.advance(10_000)
    expect(polls).toHaveLength(1)
    expect(clock.pendingTimers).toBe(0)
  })

  test('polls once after silence, bounded so that all is decided within the time', async () => {
    const { clock, polls } = guarded()
    clock.advance(2499)
    expect(polls).toEqual([])
    clock.advance(1)
    expect(polls).toEqual([1500])
  })

  test('polls ever more rarely while the lease is idle, down to once in 30 s', async () => {
    const { clock, polls } = guarded()
    const delays: number[] = []
    for (let poll = 0; poll < 6; poll++) {
      const [delay = 0] = clock.pendingDelays
      delays.push(delay)
      clock.advance(delay)
      await settle()
    }
    expect(delays).toEqual([2500, 5000, 10_000, 20_000, 30_000, 30_000])
    expect(polls).toHaveLength(6)
  })

  test('polls early again once something was heard', async () => {
    const { clock, guard, polls } = guarded()
    clock.advance(2500)
    await settle()
    guard.heard()
    clock.advance(2500)
    expect(polls).toHaveLength(2)
  })

  test('gives the watch up when the poll fails', async () => {
    const { clock, lost, answerWith } = guarded()
    const failure = new Error('no route')
    answerWith(() => Promise.reject(failure))
    clock.advance(2500)
    await settle()
    expect(lost).toEqual([failure])
    expect(clock.pendingTimers).toBe(0)
  })

  test('gives the watch up when it does not come up with what the poll saw', async () => {
    const { clock, guard, lost, polls, answerWith, setBehind } = guarded()
    answerWith(() => Promise.resolve('behind'))
    setBehind(true)
    clock.advance(2500)
    await settle()
    expect(lost).toEqual([])
    clock.advance(750)
    expect(lost).toEqual(['behind'])
    expect(clock.now()).toBeLessThan(4000)
    expect(clock.pendingTimers).toBe(0)
    guard.heard()
    clock.advance(60_000)
    await settle()
    expect([polls.length, lost.length]).toEqual([1, 1])
  })

  test('keeps the watch when what the poll saw was only under way', async () => {
    const { clock, guard, lost, answerWith, setBehind, polls } = guarded()
    answerWith(() => Promise.resolve('behind'))
    setBehind(true)
    clock.advance(2500)
    await settle()
    setBehind(false)
    guard.heard()
    clock.advance(750)
    expect(lost).toEqual([])
    clock.advance(2500)
    expect(polls).toHaveLength(2)
  })

  test('does nothing any more once it is stopped, also when a poll is under way', async () => {
    const { clock, guard, lost, answerWith } = guarded()
    let fail: (error: Error) => void = () => {}
    answerWith(() => new Promise((_, reject) => (fail = reject)))
    clock.advance(2500)
    guard.stop()
    fail(new Error('aborted'))
    await settle()
    expect(lost).toEqual([])
    expect(clock.pendingTimers).toBe(0)
  })
})
