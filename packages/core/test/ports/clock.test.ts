import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { systemClock } from '../../src/ports/clock.ts'

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
