import { describe, expect, test } from 'vitest'
import { ReconnectBackoff } from '../src/reflector/reconnect-backoff.ts'

describe('the backoff of reconnects', () => {
  test('is nothing the first time, then grows from 100 ms to 5 s', () => {
    const backoff = new ReconnectBackoff(() => 0)
    expect(Array.from({ length: 9 }, () => backoff.next())).toEqual([0, 100, 200, 400, 800, 1600, 3200, 5000, 5000])
  })

  test('is longer by up to a fifth, so that clients that lost one server do not return together', () => {
    const backoff = new ReconnectBackoff(() => 1)
    expect(Array.from({ length: 3 }, () => backoff.next())).toEqual([0, 120, 240])
  })

  test('starts again after a success', () => {
    const backoff = new ReconnectBackoff(() => 1)
    backoff.next()
    expect(backoff.fresh).toBe(false)
    backoff.reset()
    expect(backoff.fresh).toBe(true)
    expect(backoff.next()).toBe(0)
  })
})
