import { OptionsError } from './options-error.ts'

/** Refuses an option that is set to a value that is not allowed. @throws OptionsError naming the option and its value */
export function assertOneOf(name: string, value: unknown, allowed: readonly string[]): void {
  if (value === undefined || allowed.some((item) => item === value)) return
  throw OptionsError.expected(`\`${name}\` to be one of ${allowed.join(', ')}`, value)
}

/** Refuses an option that is set and is not a boolean. @throws OptionsError naming the option and its value */
export function assertBoolean(name: string, value: unknown): void {
  if (value === undefined || typeof value === 'boolean') return
  throw OptionsError.expected(`\`${name}\` to be true or false`, value)
}
