import { errorOf } from '../error-of.ts'
import { LOCK_FAILURES, LockRequestError } from '../lock/lock-request-error.ts'
import type { RequestFailure } from './machine/event.ts'

/** Calls a function of a lock. If it throws, the promise rejects. */
export async function invoke<T>(send: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
  return send(signal)
}

/** Turns any rejection into an answer. Users write locks too, which may reject with anything. */
export function failureOf(cause: unknown): RequestFailure {
  const error = errorOf(cause)
  const unknown: RequestFailure = { kind: 'failed', failure: 'unknown-outcome', error }
  if (!(error instanceof LockRequestError)) return unknown
  try {
    const { failure, retryAfterMs } = error
    return LOCK_FAILURES.includes(failure) ? { kind: 'failed', failure, retryAfterMs, error } : unknown
  } catch {
    return unknown
  }
}

/** The failure of a request that was not answered in time: whether it took effect is not known. */
export function timeoutError(requestTimeoutMs: number): LockRequestError {
  return new LockRequestError('unknown-outcome', `The lease request was not answered within ${requestTimeoutMs} ms`)
}
