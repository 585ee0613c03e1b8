import type { LeaseOptions } from '@tenure/core'

/** The settings of an adversary process, as JSON. */
export interface ProcessSetup {
  readonly lease: string
  readonly seed: number
  readonly kubeConfigPath: string
  /** For the traces of the processes. */
  readonly traceFolder: string
}

/** The time limit for tasks to finish. */
export const DRAIN_MS = 400

/** The time limit for tasks to react to the hard abort. */
export const GRACE_MS = 200

/** The shortest lease. */
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
