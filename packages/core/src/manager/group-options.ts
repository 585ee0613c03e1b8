import { DEFAULT_CLEANUP_TIMEOUT_MS } from '../election/timing-options.ts'
import { resolveDurationMs } from '../options/duration.ts'
import { assertKnownKeys } from '../options/known-keys.ts'

/** The stop timeout of a group. */
export interface StopOptions {
  /** How long the group may take to stop, in milliseconds. @default 5000 */
  readonly stopTimeoutMs?: number
}

/** The stop budgets of the controllers that need no leadership, in milliseconds. */
export interface AlwaysOnOptions {
  /** How long their tasks may take to finish by themselves. @default 20000 */
  readonly drainTimeoutMs?: number
  /** How long they may take to react to the hard abort. @default 4000 */
  readonly abortGraceMs?: number
  /** How long the cleanups of a controller may take after its last task. @default 4000 */
  readonly cleanupTimeoutMs?: number
}

/**
 * How long each group of a manager may take to stop. Groups start in the order of these options and stop in reverse. Leaders stop first;
 * their budgets are options of their leases. Each group has its full time, however long the others took.
 */
export interface GroupOptions {
  /** Extensions of the group `servers`, the default. If an extension misses its stop timeout, `start()` rejects. */
  readonly servers?: StopOptions
  /** Extensions of the group `caches`. If an extension misses its stop timeout, `start()` rejects. */
  readonly caches?: StopOptions
  /** Controllers that need no leadership. Tasks that are left after these budgets are wedged. */
  readonly alwaysOn?: AlwaysOnOptions
  /** Warm-ups. Tasks that are left after the stop timeout are wedged. */
  readonly warmUp?: StopOptions
}

/** {@link GroupOptions} with every default filled in. */
export interface ResolvedGroupOptions {
  readonly servers: Required<StopOptions>
  readonly caches: Required<StopOptions>
  readonly alwaysOn: Required<AlwaysOnOptions>
  readonly warmUp: Required<StopOptions>
}

/** Fills in defaults. @throws OptionsError that names the wrong option. */
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
