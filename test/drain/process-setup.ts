import type { LeaseOptions } from '@tenure/core'

/** The settings of the process of an adversary, as JSON. */
export interface ProcessSetup {
  readonly lease: string
  readonly seed: number
  readonly kubeConfigPath: string
}

/** How long the tasks may take to finish. */
export const DRAIN_MS = 400

/** How long they may take to react to the hard abort. */
export const GRACE_MS = 200

/** As short as leases get. */
export function leaseOptions(name: string): LeaseOptions {
  return {
    name,
    namespace: 'default',
    leaseDurationMs: 3000,
    renewDeadlineMs: 2000,
    retryPeriodMs: 500,
    drainTimeoutMs: DRAIN_MS,
    abortGraceMs: GRACE_MS,
  }
}
