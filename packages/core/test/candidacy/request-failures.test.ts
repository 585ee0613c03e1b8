import { describe, expect, test } from 'vitest'
import { RequestFailures } from '../../src/candidacy/request-failures.ts'
import { LockRequestError } from '../../src/lock/lock-request-error.ts'

const refused = () => new LockRequestError('unreachable', `connect ECONNREFUSED from port ${Math.random()}`)

describe('Of the failed requests of an outage', () => {
  test('only the first is news, and a summary every minute', () => {
    const failures = new RequestFailures()
    const news: (readonly [number, number])[] = []
    for (let now = 0; now <= 150_000; now += 500) {
      const outage = failures.failed(refused(), now)
      if (outage !== undefined) news.push([now, outage.failures])
    }
    expect(news).toEqual([
      [0, 1],
      [60_000, 121],
      [120_000, 241],
    ])
  })

  test('the first of each kind is news', () => {
    const failures = new RequestFailures()
    expect(failures.failed(refused(), 0)).toEqual({ failures: 1, lastedMs: 0 })
    expect(failures.failed(new LockRequestError('forbidden', '403'), 500)).toEqual({ failures: 2, lastedMs: 500 })
    expect(failures.failed(refused(), 1000)).toBeUndefined()
  })

  test('one summary speaks for kinds that take turns', () => {
    const failures = new RequestFailures()
    const news: number[] = []
    for (let now = 0; now < 120_000; now += 500) {
      const error = now % 1000 === 0 ? refused() : new LockRequestError('unknown-outcome', 'no answer')
      if (failures.failed(error, now) !== undefined) news.push(now)
    }
    expect(news).toEqual([0, 500, 60_000])
  })

  test('a success tells what it came to, and the next failure is news again', () => {
    const failures = new RequestFailures()
    expect(failures.succeeded(0)).toBeUndefined()
    failures.failed(refused(), 1000)
    failures.failed(refused(), 2000)
    expect(failures.succeeded(5000)).toEqual({ failures: 2, lastedMs: 4000 })
    expect(failures.succeeded(5000)).toBeUndefined()
    expect(failures.failed(refused(), 6000)).toEqual({ failures: 1, lastedMs: 0 })
  })

  test('errors with endless kinds do not fill the memory, nor the log', () => {
    const failures = new RequestFailures()
    let news = 0
    for (let index = 0; index < 1000; index++) {
      const cause = Object.assign(new Error('x'), { code: `E${index}` })
      if (failures.failed(new LockRequestError('unreachable', 'x', { cause }), index) !== undefined) news += 1
    }
    expect(news).toBe(16)
  })
})

test('failures with different status codes are different kinds', () => {
  const failures = new RequestFailures()
  const failed = (statusCode: number, now: number) =>
    failures.failed(Object.assign(new Error('failed'), { statusCode }), now)
  expect([failed(500, 10), failed(503, 12), failed(500, 13)]).toEqual([
    { failures: 1, lastedMs: 0 },
    { failures: 2, lastedMs: 2 },
    undefined,
  ])
})
