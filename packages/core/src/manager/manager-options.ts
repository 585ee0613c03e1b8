import type { WedgedPolicy } from '../election/machine/config.ts'
import { LEASE_OPTION_NAMES, type LeaseOptions } from '../candidacy/lease-options.ts'
import type { LeadershipLostError, WedgedError } from '../candidacy/wedged-error.ts'
import {
  type ResolvedRestartOptions,
  resolveRestartOptions,
  type RestartOptions,
} from '../controller/restart-options.ts'
import { type FeatureGates, type FeatureGateSettings, resolveFeatureGates } from '../feature-gates.ts'
import type { Lock } from '../lock/lock.ts'
import { assertKnownKeys } from '../options/known-keys.ts'
import { assertOneOf } from '../options/one-of.ts'
import { OptionsError } from '../options/options-error.ts'
import { type Clock, systemClock } from '../ports/clock.ts'
import { type Logger, silentLogger } from '../ports/logger.ts'
import { type Random, systemRandom } from '../ports/random.ts'
import { safeLogger } from '../ports/safe-logger.ts'
import type { WatchdogOptions } from '../watchdog/watchdog.ts'
import { type GroupOptions, type ResolvedGroupOptions, resolveGroupOptions } from './group-options.ts'

/** How a rollout moves the leader. */
type RolloutPolicy = 'prefer-new' | 'eager' | 'off' | 'never-lead'

/** Options of a {@link Manager}. */
export interface ManagerOptions {
  /** Names this replica in the lease. Must be unique to this start of this process. */
  readonly identity: string
  /** The lease of the controllers that `register()` adds. `candidacy()` adds further leases. */
  readonly lease: LeaseOptions
  /** Makes the lock of a lease. Called once for each lease, after the extensions have started. */
  readonly createLock: (lease: LeaseOptions) => Lock
  /**
   * What this replica runs, such as the hash of its Pod's template: 1 to 253 printable characters, equal for all replicas of one rollout. A
   * free lease goes to a replica of the newest revision first. The revision of the replica that started last is the newest, so it
   * needs no order of its own. It affects which replica leads next, never safety. @default none: revisions decide nothing
   */
  readonly revision?: string
  /**
   * Where this replica runs, such as the zone of its node: 1 to 63 printable characters. Of several standbys of the newest revision, those in
   * the zone of the present leader try first. @default none: zones decide nothing
   */
  readonly zone?: string
  /**
   * How a rollout moves the leader. `prefer-new`: when the leader stops, a replica of the newest revision leads next. `eager`: the
   * leader hands over as soon as such a replica has joined the standbys and answers. `off`: revisions decide nothing. `never-lead`: this
   * replica follows and is ready, as a canary, and never leads. If no other replica runs, nobody leads. @default 'prefer-new'
   */
  readonly rollout?: RolloutPolicy
  /** Which behaviours are on. @default every gate at its default */
  readonly featureGates?: FeatureGateSettings
  /** What to do when a drain misses its deadline. @default 'exit' */
  readonly onWedged?: WedgedPolicy
  /**
   * A thread that ends the process when a term is not confirmed by `validUntil`, for example because the event loop is blocked.
   * Needs worker threads. With it, a wedged term may end by SIGKILL instead of with an exit code. @default false
   */
  readonly watchdog?: boolean | WatchdogOptions
  /** How often failed controllers are restarted. */
  readonly restart?: RestartOptions
  /** How long each group may take to stop. */
  readonly groups?: GroupOptions
  /**
   * Ends the process immediately. The manager calls it when nothing else can keep two leaders apart. @default none: `start()`
   * rejects, and you must end the process
   */
  readonly terminate?: (error: LeadershipLostError | WedgedError) => void
  /** Receives the log lines of the manager and its terms. @default a logger that drops every line */
  readonly logger?: Logger
  /** Times leases, tasks and restarts. @default the clock of this machine */
  readonly clock?: Clock
  /** Spreads retries and restarts. @default `Math.random` */
  readonly random?: Random
}

const MANAGER_OPTION_NAMES = [
  'identity',
  'lease',
  'createLock',
  'revision',
  'zone',
  'rollout',
  'featureGates',
  'onWedged',
  'watchdog',
  'restart',
  'groups',
  'terminate',
  'logger',
  'clock',
  'random',
] as const satisfies (keyof ManagerOptions)[]

/** {@link ManagerOptions} with every default filled in. */
export interface ResolvedManagerOptions {
  readonly identity: string
  readonly createLock: (lease: LeaseOptions) => Lock
  /** Undefined where revisions decide nothing. */
  readonly revision: string | undefined
  readonly zone: string | undefined
  readonly rollout: RolloutPolicy
  readonly featureGates: FeatureGates
  readonly onWedged: WedgedPolicy
  readonly watchdog: WatchdogOptions | undefined
  readonly restart: ResolvedRestartOptions
  readonly groups: ResolvedGroupOptions
  readonly terminate: ((error: LeadershipLostError | WedgedError) => void) | undefined
  /** Adds the identity to every line. */
  readonly logger: Logger
  readonly clock: Clock
  readonly random: Random
}

/** Fills in defaults. @throws OptionsError that names the wrong option. */
export function resolveManagerOptions(options: ManagerOptions): ResolvedManagerOptions {
  assertKnownKeys('the options of a Manager', options, MANAGER_OPTION_NAMES, { lease: LEASE_OPTION_NAMES })
  const { identity, createLock, onWedged = 'exit', rollout = 'prefer-new', terminate } = options
  if (typeof identity !== 'string' || identity.trim() === '') {
    throw OptionsError.expected(`\`identity\` to be a text that is not empty`, identity)
  }
  if (typeof createLock !== 'function') {
    throw OptionsError.expected('`createLock` to be a function that makes the lock of a lease', createLock)
  }
  assertOneOf('onWedged', onWedged, ['exit', 'hold', 'abandon'])
  assertOneOf('rollout', rollout, ['prefer-new', 'eager', 'off', 'never-lead'])
  assertPrintable('revision', options.revision, MAX_REVISION_LENGTH)
  assertPrintable('zone', options.zone, MAX_ZONE_LENGTH)
  return {
    identity,
    createLock,
    revision: rollout === 'off' ? undefined : options.revision,
    zone: options.zone,
    rollout,
    featureGates: resolveFeatureGates(options.featureGates),
    onWedged,
    watchdog: resolveWatchdogOptions(options.watchdog),
    restart: resolveRestartOptions(options.restart),
    groups: resolveGroupOptions(options.groups),
    terminate,
    logger: safeLogger(options.logger ?? silentLogger).child({ identity }),
    clock: options.clock ?? systemClock,
    random: options.random ?? systemRandom,
  }
}

/** Longer revisions are not useful, and every write of the list of standbys carries them. */
const MAX_REVISION_LENGTH = 253

/** The longest value of a label. */
const MAX_ZONE_LENGTH = 63

function assertPrintable(name: string, value: unknown, maxLength: number): void {
  if (value === undefined) return
  if (typeof value === 'string' && isPrintable(value) && value.length <= maxLength) return
  throw OptionsError.expected(`\`${name}\` to be a text of 1 to ${maxLength} printable characters`, value)
}

/** Whether a text is not blank and has no control characters, which JSON writes six times as long. */
function isPrintable(text: string): boolean {
  return text.trim() !== '' && !/[\p{Cc}\p{Cs}]/u.test(text)
}

function resolveWatchdogOptions(value: boolean | WatchdogOptions = false): WatchdogOptions | undefined {
  if (typeof value === 'boolean') return value ? {} : undefined
  if (typeof value !== 'object' || value === null) {
    throw OptionsError.expected(`\`watchdog\` to be true, false or options`, value)
  }
  assertKnownKeys('`watchdog`', value, ['markerFile'])
  const { markerFile } = value
  if (markerFile === undefined || (typeof markerFile === 'string' && markerFile !== '')) return value
  throw OptionsError.expected(`\`watchdog.markerFile\` to be the path of a file`, markerFile)
}
