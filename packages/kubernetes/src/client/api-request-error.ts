import { LockRequestError, type LockFailure } from '@tenure/core'

/** What an {@link ApiRequestError} adds to its message. */
export interface ApiRequestErrorOptions extends ErrorOptions {
  readonly retryAfterMs?: number
  readonly statusCode?: number
  readonly reason?: string
  readonly staleConnection?: boolean
}

/** A request to an API server failed. */
export class ApiRequestError extends LockRequestError {
  /** The HTTP status, if the server answered. */
  readonly statusCode: number | undefined
  /** The `reason` of the `Status` that the server answered with, for example `AlreadyExists`. */
  readonly reason: string | undefined
  /** A kept-alive connection turned out to be closed before a byte of the answer was read. */
  readonly staleConnection: boolean

  constructor(failure: LockFailure, message: string, options: ApiRequestErrorOptions = {}) {
    super(failure, message, options)
    this.statusCode = options.statusCode
    this.reason = options.reason
    this.staleConnection = options.staleConnection ?? false
  }
}
