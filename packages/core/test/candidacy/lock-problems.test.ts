import { expect, test } from 'vitest'
import { LockProblems } from '../../src/candidacy/lock-problems.ts'
import { LockRequestError } from '../../src/lock/lock-request-error.ts'

test('only a failure to acquire that every further attempt would meet again is a refusal', () => {
  const problems = new LockProblems()
  const forbidden = new LockRequestError('forbidden', '403 leases is forbidden')
  const others: readonly [string, Error][] = [
    ['renew', forbidden],
    ['acquire', new LockRequestError('conflict', '409 conflict')],
    ['acquire', new Error('no connection')],
  ]
  for (const [purpose, error] of others) {
    problems.failed(purpose, error)
    expect([problems.last, problems.refusal]).toEqual([error, undefined])
  }
  problems.failed('acquire', forbidden)
  problems.succeeded()
  expect([problems.last, problems.refusal]).toEqual([undefined, forbidden])
  problems.acquired()
  expect(problems.refusal).toBeUndefined()
})
