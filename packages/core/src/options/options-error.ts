import { TenureError } from '../tenure-error.ts'
import { textOf } from '../text-of.ts'

/** An option is missing, malformed, out of range, or in conflict with another. The message names it and what was expected. */
export class OptionsError extends TenureError {
  override readonly code = 'BAD_OPTIONS'

  /**
   * The error for a value that is not what was expected, with the type of the value: ``Expected `leaseDurationMs` to be a number, got
   * `15000` (string)``.
   * @param what the option and the expected value
   * @param more the end of the message: a remedy, or the cause
   */
  static expected(what: string, value: unknown, more: { remedy?: string; cause?: unknown } = {}): OptionsError {
    const { remedy, cause } = more
    const end = remedy === undefined ? '' : `. ${remedy}`
    return new OptionsError(
      `Expected ${what}, got \`${textOf(value)}\`${typeNote(value)}${end}`,
      'cause' in more ? { cause } : undefined,
    )
  }
}

/** A text such as `15000` looks like a number in a message. */
function typeNote(value: unknown): string {
  if (value === undefined || value === null) return ''
  return Array.isArray(value) ? ' (array)' : ` (${typeof value})`
}
