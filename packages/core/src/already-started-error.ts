import { TenureError } from './tenure-error.ts'

/** A method was called after `start()` that must be called before it, or a second time. */
export class AlreadyStartedError extends TenureError {
  override readonly code = 'ALREADY_STARTED'
}
