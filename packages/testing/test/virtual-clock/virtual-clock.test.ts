import { describe, expect, test } from 'vitest'
import { VirtualClock } from '../../src/virtual-clock/virtual-clock.ts'

describe('VirtualClock', () => {
  test('time stands still until it is advanced', async () => {
    const clock = new VirtualClock({ now: 100 })
    await clock.runAllMicrotasks()
    expect(clock.now()).toBe(100)
    await clock.advance(25)
    expect(clock.now()).toBe(125)
  })

  test('timers fire in the order in which they are due, equal ones in the order in which they were set', async () => {
    const clock = new VirtualClock()
    const fired: string[] = []
    clock.setTimer(30, () => fired.push('c'))
    clock.setTimer(10, () => fired.push('a'))
    clock.setTimer(30, () => fired.push('d'))
    clock.setTimer(20, () => fired.push('b'))
    await clock.advance(30)
    expect(fired).toEqual(['a', 'b', 'c', 'd'])
  })

  test('each timer sees the time for which it was set', async () => {
    const clock = new VirtualClock()
    const seen: number[] = []
    for (const delay of [5, 1.5, 20]) clock.setTimer(delay, () => seen.push(clock.now()))
    await clock.advance(100)
    expect(seen).toEqual([1.5, 5, 20])
  })

  test('promises settle after a timer and before the next one, however long their chain is', async () => {
    const clock = new VirtualClock()
    const log: string[] = []
    clock.setTimer(10, () => {
      void (async () => {
        for (let hop = 0; hop < 1000; hop++) await Promise.resolve()
        log.push('settled')
      })()
    })
    clock.setTimer(10, () => log.push('second timer'))
    await clock.advance(10)
    expect(log).toEqual(['settled', 'second timer'])
  })

  test('a timer that is set while time passes fires within the same advance when it is due by then', async () => {
    const clock = new VirtualClock()
    const fired: number[] = []
    const rearm = () => {
      fired.push(clock.now())
      clock.setTimer(10, rearm)
    }
    clock.setTimer(10, rearm)
    await clock.advance(35)
    expect(fired).toEqual([10, 20, 30])
    expect(clock.pendingTimers).toBe(1)
  })

  test('a timer that is not due does not fire', async () => {
    const clock = new VirtualClock()
    let fired = false
    clock.setTimer(10, () => (fired = true))
    await clock.advance(9.999)
    expect(fired).toBe(false)
  })

  test('a cancelled timer does not fire and is not pending', async () => {
    const clock = new VirtualClock()
    let fired = false
    const timer = clock.setTimer(10, () => (fired = true))
    expect(clock.pendingTimers).toBe(1)
    timer.cancel()
    expect(clock.pendingTimers).toBe(0)
    await clock.advance(100)
    expect(fired).toBe(false)
  })

  test('a timer with a negative delay fires at the next advance, even by 0 ms', async () => {
    const clock = new VirtualClock({ now: 50 })
    const seen: number[] = []
    clock.setTimer(-10, () => seen.push(clock.now()))
    await clock.runAllMicrotasks()
    expect(seen).toEqual([])
    await clock.advance(0)
    expect(seen).toEqual([50])
  })

  test('a timer that always rearms itself for the same moment is an error, not a hang', async () => {
    const clock = new VirtualClock()
    const rearm = () => void clock.setTimer(0, rearm)
    rearm()
    await expect(clock.advance(1)).rejects.toThrow('time cannot pass')
  })

  test('the wall clock can be stepped without moving the monotonic one', async () => {
    const clock = new VirtualClock({ now: 0, wallTime: 1_000_000 })
    await clock.advance(500)
    clock.stepWallTime(-3_600_000)
    expect(clock.now()).toBe(500)
    expect(clock.wallTime()).toBe(1_000_500 - 3_600_000)
  })

  test('a stall lets time pass without a timer, and the timers fire late and in order', async () => {
    const clock = new VirtualClock()
    const seen: [string, number][] = []
    clock.setTimer(20, () => seen.push(['b', clock.now()]))
    clock.setTimer(10, () => seen.push(['a', clock.now()]))
    clock.stall(100)
    expect(clock.now()).toBe(100)
    expect(seen).toEqual([])
    await clock.advance(0)
    expect(seen).toEqual([
      ['a', 100],
      ['b', 100],
    ])
  })

  test('a fast clock counts more and fires its timers earlier in true time', async () => {
    const clock = new VirtualClock({ wallTime: 0, rate: 1.25 })
    let fired = false
    clock.setTimer(100, () => (fired = true))
    await clock.advance(79)
    expect(fired).toBe(false)
    await clock.advance(1)
    expect(fired).toBe(true)
    expect(clock.now()).toBe(100)
    expect(clock.wallTime()).toBe(100)
  })

  test('a timer of a skewed clock never fires before its time as that clock shows it', async () => {
    const clock = new VirtualClock({ now: 0.1, rate: 1.05 })
    const early: number[] = []
    for (let delay = 0.1; delay < 300; delay += 0.7) {
      const dueAt = clock.now() + delay
      clock.setTimer(delay, () => {
        if (clock.now() < dueAt) early.push(dueAt)
      })
    }
    await clock.advance(400)
    expect(clock.pendingTimers).toBe(0)
    expect(early).toEqual([])
  })

  test('peers share true time: one advance moves all of them, each at its own rate', async () => {
    const clock = new VirtualClock()
    await clock.advance(1000)
    const fast = clock.createPeer({ now: 0, rate: 1.1 })
    const order: string[] = []
    clock.setTimer(100, () => order.push('true'))
    fast.setTimer(105, () => order.push('fast'))
    expect(fast.pendingTimers).toBe(1)
    await fast.advance(100)
    expect(clock.now()).toBe(1100)
    expect(fast.now()).toBeCloseTo(110)
    expect(order).toEqual(['fast', 'true'])
  })

  test('a rate of zero or less is refused', () => {
    expect(() => new VirtualClock({ rate: 0 })).toThrow('Expected `rate` to be above 0')
  })
})
