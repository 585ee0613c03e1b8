import { textOf } from '../text-of.ts'
import { OptionsError } from './options-error.ts'

/** @throws OptionsError when a value is given that is not among those allowed. */
export function assertOneOf(name: string, value: unknown, allowed: readonly string[]): void {
  if (value === undefined || allowed.some((item) => item === value)) return
  throw new OptionsError(`Expected \`${name}\` to be one of ${allowed.join(', ')}, got \`${textOf(value)}\``)
}
