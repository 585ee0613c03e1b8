import { resolveDurationMs } from '../options/duration.ts'
import { assertKnownKeys } from '../options/known-keys.ts'
import { OptionsError } from '../options/options-error.ts'

/** How often a failed controller is restarted before the replica ends its term. Like the restart intensity of OTP supervisors. */
export interface RestartOptions {
  /** The maximum number of restarts within `withinMs`. @default 5 */
  readonly maxRestarts?: number
  /** The period over which restarts are counted, in milliseconds. @default 60000 */
  readonly withinMs?: number
  /** Pause before the first restart, in milliseconds. It doubles with each restart within `withinMs`, up to 30 s. @default 200 */
  readonly backoffMs?: number
}

/** {@link RestartOptions} with every default filled in. */
export type ResolvedRestartOptions = Required<RestartOptions>

/** The longest pause before a restart. */
export const MAX_BACKOFF_MS = 30_000

/** Fills in defaults. @throws OptionsError that names the wrong option. */
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
