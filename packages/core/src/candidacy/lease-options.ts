import { resolveDurationMs } from '../options/duration.ts'
import { DEFAULT_CLEANUP_TIMEOUT_MS, TIMING_OPTION_NAMES, type TimingOptions } from '../election/timing-options.ts'

/** A lease to compete for. */
export interface LeaseOptions extends TimingOptions {
  /** The name of the lease. */
  readonly name: string
  /** The namespace of the lease, for locks with namespaces. @default the namespace of the process */
  readonly namespace?: string
  /**
   * What to do if the lease does not exist at the start. `create`: create it and act. `wait`: create it and wait for one lease duration
   * before acting. Waiting is safe even if the lease was deleted while a leader was disconnected. @default 'create'
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

/** Fills in the default. @throws OptionsError when the value is not a duration. */
export function resolveCleanupTimeoutMs({ cleanupTimeoutMs }: Pick<LeaseOptions, 'cleanupTimeoutMs'>): number {
  return resolveDurationMs('cleanupTimeoutMs', cleanupTimeoutMs, { fallback: DEFAULT_CLEANUP_TIMEOUT_MS, min: 0 })
}
