import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { VirtualClock } from '../../testing/src/virtual-clock/virtual-clock.ts'
import { abortable } from '../src/client/abortable.ts'
import { withDeadline } from '../src/client/deadline.ts'
import { pause } from '../src/reflector/pause.ts'

/** Whether nothing is left of what was bounded. */
const left = (clock: VirtualClock, signal: AbortSignal) => [
  clock.pendingTimers,
  getEventListeners(signal, 'abort').length,
]

describe('an attempt with a deadline', () => {
  test('ends as it ends by itself, and leaves no timer or listener', async () => {
    const [clock, { signal }] = [new VirtualClock(), new AbortController()]
    const error = new Error('no')
    expect(await withDeadline({ clock, timeoutMs: 100, signal }, async () => 7)).toBe(7)
    await expect(withDeadline({ clock, timeoutMs: 100, signal }, () => Promise.reject(error))).rejects.toBe(error)
    expect(left(clock, signal)).toEqual([0, 0])
  })

  test('has a signal that aborts when its time is over, or with the outer signal', async () => {
    const [clock, outer] = [new VirtualClock(), new AbortController()]
    const signals: AbortSignal[] = []
    const start = () =>
      withDeadline({ clock, timeoutMs: 100, signal: outer.signal }, (signal) => {
        signals.push(signal)
        return new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
      })
    const first = start()
    await clock.advance(99)
    expect(signals[0]?.aborted).toBe(false)
    await clock.advance(1)
    await first
    expect(signals[0]?.reason).toMatchObject({ name: 'TimeoutError', message: 'No answer within 100 ms' })
    const second = start()
    const reason = new Error('enough')
    outer.abort(reason)
    await second
    expect(signals[1]?.reason).toBe(reason)
    expect(left(clock, outer.signal)).toEqual([0, 0])
  })
})

describe('a pause', () => {
  test('lasts as long as it should, or until its signal aborts, and leaves no timer or listener', async () => {
    const [clock, stopping] = [new VirtualClock(), new AbortController()]
    const ended: string[] = []
    const first = pause(100, clock, stopping.signal).then(() => ended.push('first'))
    await clock.advance(99)
    expect(ended).toEqual([])
    await clock.advance(1)
    await first
    expect(left(clock, stopping.signal)).toEqual([0, 0])
    const second = pause(100, clock, stopping.signal)
    stopping.abort()
    await second
    expect(left(clock, stopping.signal)).toEqual([0, 0])
  })

  test('of no time ends at once', async () => {
    const [clock, { signal }] = [new VirtualClock(), new AbortController()]
    const pausing = pause(0, clock, signal)
    expect(clock.pendingTimers).toBe(0)
    await pausing
  })
})

describe('a promise that can be abandoned', () => {
  test('settles as it does, or with the reason of the signal', async () => {
    const stopping = new AbortController()
    const { signal } = stopping
    const error = new Error('no')
    expect(await abortable(Promise.resolve(7), signal)).toBe(7)
    await expect(abortable(Promise.reject(error), signal)).rejects.toBe(error)
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
    const reason = new Error('enough')
    const abandoned = expect(abortable(new Promise(() => {}), signal)).rejects.toBe(reason)
    stopping.abort(reason)
    await abandoned
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
    await expect(abortable(Promise.resolve(7), signal)).rejects.toBe(reason)
  })
})
