import { OptionsError } from './options-error.ts'

/** The range and the default of a duration. */
export interface DurationRule {
  /** Without a fallback, the value is required. */
  readonly fallback?: number
  /** Smallest accepted value, in milliseconds. @default 1 */
  readonly min?: number
}

/** Returns the given duration, or the fallback if it is undefined. @throws OptionsError when it is not a finite number in range. */
export function resolveDurationMs(name: string, value: unknown, rule: DurationRule): number {
  if (value === undefined && rule.fallback !== undefined) return rule.fallback
  const min = rule.min ?? 1
  if (typeof value !== 'number' || !Number.isFinite(value) || value < min) {
    throw OptionsError.expected(`\`${name}\` to be a number of milliseconds of at least ${min}`, value)
  }
  return value
}
