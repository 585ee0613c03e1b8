import { TenureError } from '../tenure-error.ts'
import { textOf } from '../text-of.ts'

/** Longer values are cut. */
const MAX_SHOWN_LENGTH = 200

/** Ends of lines, and what a terminal does not show as a character. */
const CONTROLS = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu

/**
 * An option is missing, malformed, out of range, or in conflict with another. The message names it and what was expected. It is one line:
 * control characters are escaped.
 */
export class OptionsError extends TenureError {
  override readonly code = 'BAD_OPTIONS'

  constructor(message: string, options?: ErrorOptions) {
    super(message.replaceAll(CONTROLS, escaped), options)
  }

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
      `Expected ${what}, got \`${shown(value)}\`${typeNote(value)}${end}`,
      'cause' in more ? { cause } : undefined,
    )
  }
}

function shown(value: unknown): string {
  const text = textOf(value)
  return text.length > MAX_SHOWN_LENGTH ? `${text.slice(0, MAX_SHOWN_LENGTH)}…` : text
}

/** The character as it is written in a program. */
function escaped(control: string): string {
  const quoted = JSON.stringify(control).slice(1, -1)
  return quoted === control ? `\\u${(control.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}` : quoted
}

/** A text such as `15000` looks like a number in a message. */
function typeNote(value: unknown): string {
  if (value === undefined || value === null) return ''
  return Array.isArray(value) ? ' (array)' : ` (${typeof value})`
}
