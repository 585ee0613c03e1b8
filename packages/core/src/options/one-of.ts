import { OptionsError } from './options-error.ts'

/** @throws OptionsError when a value is given that is not among those allowed. */
export function assertOneOf(name: string, value: unknown, allowed: readonly string[]): void {
  if (value === undefined || allowed.some((item) => item === value)) return
  throw OptionsError.expected(`\`${name}\` to be one of ${allowed.join(', ')}`, value)
}

/** @throws OptionsError when a value is given that is not a boolean. */
export function assertBoolean(name: string, value: unknown): void {
  if (value === undefined || typeof value === 'boolean') return
  throw OptionsError.expected(`\`${name}\` to be true or false`, value)
}
