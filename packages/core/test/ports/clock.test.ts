import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { systemClock } from '../../src/ports/clock.ts'
import { systemRandom } from '../../src/ports/random.ts'
import type { SuspensionMeter } from '../../src/ports/suspension.ts'

const DAY_MS = 24 * 60 * 60 * 1000

describe('A timer of the clock of this machine', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
  afterEach(() => void vi.useRealTimers())

  test.each([25, 60, 400])('that is to wait %i days waits for them', async (days) => {
    const fired = vi.fn<() => void>()
    systemClock.setTimer(days * DAY_MS, fired)
    await vi.advanceTimersByTimeAsync(days * DAY_MS - 1)
    expect(fired).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    expect(fired).toHaveBeenCalledOnce()
    expect(vi.getTimerCount()).toBe(0)
  })

  test('can be cancelled after any number of days', async () => {
    const fired = vi.fn<() => void>()
    const timer = systemClock.setTimer(100 * DAY_MS, fired)
    await vi.advanceTimersByTimeAsync(60 * DAY_MS)
    timer.cancel()
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('The clock of this machine', () => {
  afterEach(() => {
    vi.useRealTimers()
    vi.doUnmock('../../src/ports/suspension.ts')
    vi.resetModules()
  })

  /** The clock of a machine whose suspensions this meter counts. */
  async function clockOf(meter: Pick<SuspensionMeter, 'aheadMs'> | undefined): Promise<typeof systemClock> {
    vi.resetModules()
    vi.doMock(import('../../src/ports/suspension.ts'), async (original) => ({
      ...(await original()),
      machineSuspension: meter as SuspensionMeter | undefined,
    }))
    return (await import('../../src/ports/clock.ts')).systemClock
  }

  test('is the monotonic clock of Node where nothing counts suspensions, which nobody can wait for then', async () => {
    vi.useFakeTimers()
    const clock = await clockOf(undefined)
    await vi.advanceTimersByTimeAsync(1234)
    expect([clock.now(), 'watchSuspension' in clock]).toEqual([performance.now(), false])
  })

  test('adds the suspensions since the start of the process, and tells of each', async () => {
    vi.useFakeTimers()
    let aheadMs = 5000
    const clock = await clockOf({ aheadMs: () => aheadMs })
    const told = vi.fn<() => void>()
    const forget = clock.watchSuspension?.(told)
    await vi.advanceTimersByTimeAsync(1000)
    expect([clock.now(), told.mock.calls]).toEqual([performance.now(), []])
    aheadMs += 60_000
    await vi.advanceTimersByTimeAsync(100)
    expect([clock.now(), told.mock.calls]).toEqual([performance.now() + 60_000, [[]]])
    forget?.()
    expect(vi.getTimerCount()).toBe(0)
  })

  test('has the wall clock of Node', () => {
    vi.useFakeTimers({ now: 1234 })
    expect(systemClock.wallTime()).toBe(1234)
  })

  test('waits for the longest delay of Node with one timer', async () => {
    vi.useFakeTimers()
    const fired = vi.fn<() => void>()
    systemClock.setTimer(2 ** 31 - 1, fired)
    await vi.advanceTimersByTimeAsync(2 ** 31 - 1)
    expect(fired).toHaveBeenCalledOnce()
  })

  test('calls as soon as possible after a delay below zero', async () => {
    vi.useFakeTimers()
    const fired = vi.fn<() => void>()
    systemClock.setTimer(-1000, fired)
    await vi.advanceTimersByTimeAsync(1)
    expect(fired).toHaveBeenCalledOnce()
  })
})

test('The random source of this process returns numbers from 0 to 1', () => {
  const numbers = Array.from({ length: 100 }, () => systemRandom())
  expect(numbers.every((number) => number >= 0 && number < 1)).toBe(true)
  expect(new Set(numbers).size).toBeGreaterThan(90)
})
