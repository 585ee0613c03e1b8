import { TenureError } from '../tenure-error.ts'

/** An option is missing, malformed, out of range, or in conflict with another. The message names it and what was expected. */
export class OptionsError extends TenureError {
  override readonly code = 'BAD_OPTIONS'
}
