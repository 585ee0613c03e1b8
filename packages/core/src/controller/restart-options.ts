import { resolveDurationMs } from '../options/duration.ts'
import { assertKnownKeys } from '../options/known-keys.ts'
import { OptionsError } from '../options/options-error.ts'

/** How often a failed controller is restarted before the replica gives up its term. The intensity limit of OTP supervisors. */
export interface RestartOptions {
  /** How many restarts are allowed within `withinMs`. @default 5 */
  readonly maxRestarts?: number
  /** The period in which restarts count, in milliseconds. @default 60000 */
  readonly withinMs?: number
  /** Pause before the first restart; doubles with each that follows within `withinMs`, up to 30 s. @default 200 */
  readonly backoffMs?: number
}

/** {@link RestartOptions} with every default filled in. */
export type ResolvedRestartOptions = Required<RestartOptions>

/** The longest pause before a restart. */
export const MAX_BACKOFF_MS = 30_000

/** Fills in defaults. @throws OptionsError naming the option that is wrong. */
export function resolveRestartOptions(options: RestartOptions = {}): ResolvedRestartOptions {
  assertKnownKeys('`restart`', options, ['maxRestarts', 'withinMs', 'backoffMs'])
  const { maxRestarts = 5 } = options
  if (!Number.isInteger(maxRestarts) || maxRestarts < 0) {
    throw OptionsError.expected(`\`restart.maxRestarts\` to be a whole number of at least 0`, maxRestarts)
  }
  return {
    maxRestarts,
    withinMs: resolveDurationMs('restart.withinMs', options.withinMs, { fallback: 60_000 }),
    backoffMs: resolveDurationMs('restart.backoffMs', options.backoffMs, { fallback: 200, min: 0 }),
  }
}
