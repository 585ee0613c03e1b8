import { resolveDurationMs } from '../options/duration.ts'
import { DEFAULT_CLEANUP_TIMEOUT_MS, TIMING_OPTION_NAMES, type TimingOptions } from '../election/timing-options.ts'

/** One lease to stand for. */
export interface LeaseOptions extends TimingOptions {
  /** The name of the lease. */
  readonly name: string
  /** Where the lease is kept, for locks that know namespaces. @default that of the process */
  readonly namespace?: string
  /**
   * What to do at the start when the lease does not exist: `create` it and act, or create it and `wait` for a lease duration
   * before acting, which is safe even if somebody deleted it under a leader who cannot see that yet. @default 'create'
   */
  readonly missingLease?: 'create' | 'wait'
  /** Labels that the lease gets with every write, besides those it has, for locks that know labels. @default {} */
  readonly labels?: Readonly<Record<string, string>>
  /**
   * How long the cleanups of a controller may take once its last task has ended, in milliseconds; after an involuntary end no
   * longer than the lease lasts. Their signal aborts when half of it is over; at its end the drain is wedged. @default 4000
   */
  readonly cleanupTimeoutMs?: number
  /**
   * Publishes the container that runs this replica, so that others can detect its termination, and acquires the lease without
   * waiting when the leader's container has terminated, for locks that support it. On Kubernetes it uses
   * the status of the leader's container, and needs the right to read Pods, and `POD_NAME` and `POD_NAMESPACE` in the environment. @default false
   */
  readonly proveDeath?: boolean
}

/** The names of all {@link LeaseOptions}. */
export const LEASE_OPTION_NAMES: readonly (keyof LeaseOptions)[] = [
  'name',
  'namespace',
  'missingLease',
  'labels',
  'cleanupTimeoutMs',
  'proveDeath',
  ...TIMING_OPTION_NAMES,
]

/** Fills in the default. @throws OptionsError when it is no duration. */
export function resolveCleanupTimeoutMs({ cleanupTimeoutMs }: Pick<LeaseOptions, 'cleanupTimeoutMs'>): number {
  return resolveDurationMs('cleanupTimeoutMs', cleanupTimeoutMs, { fallback: DEFAULT_CLEANUP_TIMEOUT_MS, min: 0 })
}
