import type { LeaseOptions } from 'tenure'

/** The lease of the demo. Its times are short, so that nobody has to wait long for a lease to expire. */
export const LEASE = {
  name: 'janitor',
  leaseDurationMs: 3000,
  renewDeadlineMs: 2000,
  retryPeriodMs: 400,
  requestTimeoutMs: 500,
  drainTimeoutMs: 2000,
  abortGraceMs: 500,
} as const satisfies LeaseOptions
