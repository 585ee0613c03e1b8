import { LockRequestError, type LockFailure } from '@tenure/core'

/** The details of an {@link ApiRequestError}. */
export interface ApiRequestErrorOptions extends ErrorOptions {
  /** How long the server asks the client to wait before the next request, in milliseconds. */
  readonly retryAfterMs?: number
  /** The HTTP status, if the server answered. */
  readonly statusCode?: number
  /** The `reason` of the `Status` in the answer. */
  readonly reason?: string
  /** Whether a kept-alive connection was closed before a byte of the answer arrived. */
  readonly staleConnection?: boolean
}

/** A request to an API server failed. */
export class ApiRequestError extends LockRequestError {
  /** The HTTP status, if the server answered. */
  readonly statusCode: number | undefined
  /** The `reason` of the `Status` that the server answered with, for example `AlreadyExists`. */
  readonly reason: string | undefined
  /** Whether a kept-alive connection broke before the answer began: the server has probably closed it while it was idle. */
  readonly staleConnection: boolean

  constructor(failure: LockFailure, message: string, options: ApiRequestErrorOptions = {}) {
    super(failure, message, options)
    this.statusCode = options.statusCode
    this.reason = options.reason
    this.staleConnection = options.staleConnection ?? false
  }
}
