import { TIMING_OPTION_NAMES, type TimingOptions } from '../election/timing-options.ts'

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
}

/** The names of all {@link LeaseOptions}. */
export const LEASE_OPTION_NAMES: readonly (keyof LeaseOptions)[] = [
  'name',
  'namespace',
  'missingLease',
  'labels',
  ...TIMING_OPTION_NAMES,
]
