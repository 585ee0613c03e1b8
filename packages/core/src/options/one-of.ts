import { OptionsError } from './options-error.ts'

/** @throws OptionsError when the value is set and is not one of those allowed. */
export function assertOneOf(name: string, value: unknown, allowed: readonly string[]): void {
  if (value === undefined || allowed.some((item) => item === value)) return
  throw OptionsError.expected(`\`${name}\` to be one of ${allowed.join(', ')}`, value)
}

/** @throws OptionsError when the value is set and is not a boolean. */
export function assertBoolean(name: string, value: unknown): void {
  if (value === undefined || typeof value === 'boolean') return
  throw OptionsError.expected(`\`${name}\` to be true or false`, value)
}
