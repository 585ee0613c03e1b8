import { describe, expect, test } from 'vitest'
import { formatMicroTime, leastEpochOf, withLeastEpoch, withoutHints } from '../../src/lock/lease-record.ts'
import { countedEpochOf, epochOf } from '../../src/lock/lock.ts'
import { LOCK_FAILURES, LockRequestError } from '../../src/lock/lock-request-error.ts'
import { lease } from '../election/pure-elector.ts'

const KEY = 'tenure.dev/least-epoch'
const withAnnotations = (annotations: Readonly<Record<string, string>>) => lease({ version: 5n, annotations })
const leastOf = (text: string) => leastEpochOf(withAnnotations({ [KEY]: text }).record)

describe('The least epoch of a record', () => {
  test('is the number of its annotation', () => {
    expect([leastOf('7'), leastOf('10'), leastOf(String(2n ** 62n))]).toEqual([7n, 10n, 2n ** 62n])
  })

  test.each(['', '0', '07', '-7', '7.5', '7 ', ' 7', 'a7', '7a', String(2n ** 62n + 1n), '1'.repeat(20)])(
    'is 0 where that is %j, and where there is none',
    (text) => {
      expect([leastOf(text), leastEpochOf(withAnnotations({}).record)]).toEqual([0n, 0n])
    },
  )

  test('is written beside the other annotations, or removed', () => {
    const { record } = withAnnotations({ 'tenure.dev/a': 'b', [KEY]: '3' })
    expect(withLeastEpoch(record, 9n)).toEqual({ ...record, annotations: { 'tenure.dev/a': 'b', [KEY]: '9' } })
    expect(withLeastEpoch(record, 0n)).toEqual({ ...record, annotations: { 'tenure.dev/a': 'b' } })
  })

  test('is all that stays of the annotations without hints', () => {
    const { record } = withAnnotations({ 'tenure.dev/a': 'b', [KEY]: '3' })
    expect(withoutHints(record)).toEqual({ ...record, annotations: { [KEY]: '3' } })
    expect(withoutHints({ ...record, annotations: { 'tenure.dev/a': 'b' } })).toEqual({ ...record, annotations: {} })
  })
})

describe('The epoch of a term', () => {
  test('is the version of the lease, or what the lock counts in its place', () => {
    const stored = withAnnotations({})
    expect([epochOf(stored), countedEpochOf(stored)]).toEqual([5n, 5n])
    expect([epochOf({ ...stored, epoch: 3n }), countedEpochOf({ ...stored, epoch: 3n })]).toEqual([3n, 3n])
  })

  test('is the least epoch of the record if that is greater', () => {
    expect([epochOf(withAnnotations({ [KEY]: '9' })), epochOf(withAnnotations({ [KEY]: '4' }))]).toEqual([9n, 5n])
    expect(countedEpochOf(withAnnotations({ [KEY]: '9' }))).toBe(5n)
  })
})

test('A time of a record has six digits after the second', () => {
  expect(formatMicroTime(Date.UTC(2026, 0, 2, 3, 4, 5, 67))).toBe('2026-01-02T03:04:05.067000Z')
})

test('The error of a request to a lock says what failed, and when to try again', () => {
  const cause = new Error('429')
  expect(new LockRequestError('throttled', 'too many', { cause, retryAfterMs: 500 })).toMatchObject({
    name: 'LockRequestError',
    code: 'LOCK_REQUEST_FAILED',
    failure: 'throttled',
    message: 'too many',
    retryAfterMs: 500,
    cause,
  })
  expect(new LockRequestError('conflict', 'late').retryAfterMs).toBeUndefined()
  expect(LOCK_FAILURES).toEqual([
    'conflict',
    'not-found',
    'unauthenticated',
    'forbidden',
    'rejected',
    'throttled',
    'unreachable',
    'unknown-outcome',
  ])
})
