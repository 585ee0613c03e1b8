import { type LockFailure, LockRequestError } from '@tenure/core'
import { textOf } from '@tenure/core/internal'

/** The code of a failed system call, such as `ENOENT`. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/** What a failed system call means for a request that has changed nothing yet. A LockRequestError stays what it is. */
export function unwritten(what: string, error: unknown): LockRequestError {
  if (error instanceof LockRequestError) return error
  return new LockRequestError(
    FAILURES[errorCode(error) ?? ''] ?? 'unreachable',
    `Could not ${what}: ${textOf(error)}`,
    {
      cause: error,
    },
  )
}

/** What a failed system call means for a request that may have changed the lease. */
export function perhapsWritten(what: string, error: unknown): LockRequestError {
  return new LockRequestError('unknown-outcome', `May have failed to ${what}: ${textOf(error)}`, { cause: error })
}

const FAILURES: Readonly<Record<string, LockFailure>> = {
  ENOENT: 'not-found',
  EACCES: 'forbidden',
  EPERM: 'forbidden',
  EROFS: 'rejected',
  ENOTDIR: 'rejected',
  ENAMETOOLONG: 'rejected',
  ENOTSUP: 'rejected',
  EOPNOTSUPP: 'rejected',
}
