import { DEFAULT_CLEANUP_TIMEOUT_MS } from '../election/timing-options.ts'
import { resolveDurationMs } from '../options/duration.ts'
import { assertKnownKeys } from '../options/known-keys.ts'

/** The budget of a group for its stop. */
export interface StopOptions {
  /** How long the group may take to stop, in milliseconds. @default 5000 */
  readonly stopTimeoutMs?: number
}

/** The budgets of the controllers that need no leadership. All in milliseconds. */
export interface AlwaysOnOptions {
  /** How long their tasks may take to finish by themselves. @default 20000 */
  readonly drainTimeoutMs?: number
  /** How long they may take to react to the hard abort. @default 4000 */
  readonly abortGraceMs?: number
  /** How long the cleanups of a controller may take once its last task has ended. @default 4000 */
  readonly cleanupTimeoutMs?: number
}

/**
 * How long each group of a manager may take to stop. Groups start in the order of these options and stop in reverse, leaders first:
 * the budgets of leaders are options of their leases. No group lives on the time of another.
 */
export interface GroupOptions {
  /** Extensions of the group `servers`, the default. If an extension misses its stop timeout, `start()` rejects. */
  readonly servers?: StopOptions
  /** Services of the group `caches`; as above. */
  readonly caches?: StopOptions
  /** Controllers that need no leadership. What is left of them at the end is wedged. */
  readonly alwaysOn?: AlwaysOnOptions
  /** Warm-ups. What is left of them at the end is wedged. */
  readonly warmUp?: StopOptions
}

/** {@link GroupOptions} with every default filled in. */
export interface ResolvedGroupOptions {
  readonly servers: Required<StopOptions>
  readonly caches: Required<StopOptions>
  readonly alwaysOn: Required<AlwaysOnOptions>
  readonly warmUp: Required<StopOptions>
}

/** Fills in defaults. @throws OptionsError naming the option that is wrong. */
export function resolveGroupOptions(options: GroupOptions = {}): ResolvedGroupOptions {
  assertKnownKeys('`groups`', options, ['servers', 'caches', 'alwaysOn', 'warmUp'])
  return {
    servers: resolveStop('servers', options.servers),
    caches: resolveStop('caches', options.caches),
    alwaysOn: resolveAlwaysOn(options.alwaysOn),
    warmUp: resolveStop('warmUp', options.warmUp),
  }
}

function resolveStop(group: string, options: StopOptions = {}): Required<StopOptions> {
  assertKnownKeys(`\`groups.${group}\``, options, ['stopTimeoutMs'])
  const name = `groups.${group}.stopTimeoutMs`
  return { stopTimeoutMs: resolveDurationMs(name, options.stopTimeoutMs, { fallback: 5000, min: 0 }) }
}

function resolveAlwaysOn(options: AlwaysOnOptions = {}): Required<AlwaysOnOptions> {
  assertKnownKeys('`groups.alwaysOn`', options, ['drainTimeoutMs', 'abortGraceMs', 'cleanupTimeoutMs'])
  const duration = (name: keyof AlwaysOnOptions, fallback: number): number =>
    resolveDurationMs(`groups.alwaysOn.${name}`, options[name], { fallback, min: 0 })
  return {
    drainTimeoutMs: duration('drainTimeoutMs', 20_000),
    abortGraceMs: duration('abortGraceMs', 4000),
    cleanupTimeoutMs: duration('cleanupTimeoutMs', DEFAULT_CLEANUP_TIMEOUT_MS),
  }
}
