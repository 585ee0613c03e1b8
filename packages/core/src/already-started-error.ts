import { TenureError } from './tenure-error.ts'

/** Something was called that is only allowed before the start, or once. */
export class AlreadyStartedError extends TenureError {
  override readonly code = 'ALREADY_STARTED'
}
