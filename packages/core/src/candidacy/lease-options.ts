import { resolveDurationMs } from '../options/duration.ts'
import type { CandidateAttributes, CandidateFacts } from '../election/rules/strategy.ts'
import { DEFAULT_CLEANUP_TIMEOUT_MS, TIMING_OPTION_NAMES, type TimingOptions } from '../election/timing-options.ts'

/** A lease to compete for. */
export interface LeaseOptions extends TimingOptions {
  /** The name of the lease. */
  readonly name: string
  /** The namespace of the lease, for locks with namespaces. @default the namespace of the process */
  readonly namespace?: string
  /**
   * What to do if the lease does not exist at the start. `create`: create it and act. `wait`: create it and wait for one lease duration
   * before acting. Waiting is safe even if the lease was deleted while a leader was disconnected.
   * @default 'create'; 'wait' if the lock keeps leaders for life
   */
  readonly missingLease?: 'create' | 'wait'
  /** Labels to add to the lease with every write, for locks with labels. Other labels stay. @default {} */
  readonly labels?: Readonly<Record<string, string>>
  /**
   * How long the cleanups of a controller may take after its last task, in milliseconds. After an involuntary end they also stop at the
   * end of the lease. Their signal aborts after half of this time. When the time is up, the drain is wedged. @default 4000
   */
  readonly cleanupTimeoutMs?: number
  /**
   * Publishes the container of this replica so that others can detect its termination. Acquires the lease without waiting when the
   * container of the leader has terminated. For locks that support it. On Kubernetes this needs permission to read Pods, and `POD_NAME`
   * and `POD_NAMESPACE` in the environment. @default false
   */
  readonly proveDeath?: boolean
  /**
   * Who leads: the best candidate instead of the fastest. A leader hands over to a candidate that is strictly better. `OldestEmulationVersion`:
   * the lowest emulation version, then the lowest binary version. `NewestVersion`: the highest binary version, then the highest emulation
   * version. A name of your own such as `example.com/mine` needs `compare`. All replicas name the same strategy. @default none: revisions decide
   */
  readonly strategy?: string
  /**
   * The version of `compare`, a whole number from 1. Of two versions, the older counts until all candidates have the newer. @default 1
   */
  readonly strategyVersion?: number
  /**
   * Negative if candidate `a` should lead rather than `b`, 0 if neither. Pure, and the same in all replicas: it must depend on nothing but
   * its arguments. Only for a strategy of your own.
   */
  readonly compare?: (a: CandidateFacts, b: CandidateFacts) => number
  /** The version of this program, such as `1.36.0`. The built-in strategies need it. */
  readonly binaryVersion?: string
  /** The version whose behaviour this program shows, at most `binaryVersion`. @default `binaryVersion` */
  readonly emulationVersion?: string
  /**
   * What `compare` needs to know of this replica, or a function that returns it, for values that change: texts, numbers and booleans, at most
   * 512 characters as JSON. Everybody who may read the lease sees them. @default {}
   */
  readonly attributes?: CandidateAttributes | (() => CandidateAttributes)
  /**
   * Who decides about `strategy`. `peers`: the leader compares the candidates that stand on the lease. `server`: the election controller of
   * the API server, from LeaseCandidates; only `OldestEmulationVersion`. `auto`: `server` where the API server has one, otherwise `peers`.
   * @default 'auto'
   */
  readonly coordination?: 'auto' | 'peers' | 'server'
}

/** The names of all {@link LeaseOptions}. */
export const LEASE_OPTION_NAMES: readonly (keyof LeaseOptions)[] = [
  'name',
  'namespace',
  'missingLease',
  'labels',
  'cleanupTimeoutMs',
  'proveDeath',
  'strategy',
  'strategyVersion',
  'compare',
  'binaryVersion',
  'emulationVersion',
  'attributes',
  'coordination',
  ...TIMING_OPTION_NAMES,
]

/** Fills in the default. @throws OptionsError when the value is not a duration. */
export function resolveCleanupTimeoutMs({ cleanupTimeoutMs }: Pick<LeaseOptions, 'cleanupTimeoutMs'>): number {
  return resolveDurationMs('cleanupTimeoutMs', cleanupTimeoutMs, { fallback: DEFAULT_CLEANUP_TIMEOUT_MS, min: 0 })
}
