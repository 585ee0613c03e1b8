import { TenureError } from '../tenure-error.ts'

/**
 * Why a request of a lock failed, and whether the write may have happened:
 *
 * | failure | meaning | may the write have happened? |
 * |---|---|---|
 * | `conflict` | the stored version is another one, or the lease to be created exists | no |
 * | `not-found` | the lease to be updated does not exist, or its namespace does not | no |
 * | `unauthenticated` | 401: the credentials are not accepted | no |
 * | `forbidden` | 403: the credentials lack a permission | no |
 * | `rejected` | the store refuses the content of the request | no |
 * | `throttled` | 429: the store asks to come back later | no |
 * | `unreachable` | no connection could be made, so nothing was sent | no |
 * | `unknown-outcome` | timeout, reset or 5xx after the request was sent | **perhaps** |
 */
export type LockFailure = (typeof LOCK_FAILURES)[number]

/** Every {@link LockFailure}. */
export const LOCK_FAILURES = [
  'conflict',
  'not-found',
  'unauthenticated',
  'forbidden',
  'rejected',
  'throttled',
  'unreachable',
  'unknown-outcome',
] as const

/** A request of a lock failed. {@link failure} says what that means; the message says what, where and why. */
export class LockRequestError extends TenureError {
  override readonly code = 'LOCK_REQUEST_FAILED'
  /** What the failure means for the caller: whether to retry, and whether a write can have happened. */
  readonly failure: LockFailure
  /** How long the store asks the client to wait before the next attempt, in milliseconds, if it says so. */
  readonly retryAfterMs: number | undefined

  constructor(failure: LockFailure, message: string, options?: ErrorOptions & { readonly retryAfterMs?: number }) {
    super(message, options)
    this.failure = failure
    this.retryAfterMs = options?.retryAfterMs
  }
}
