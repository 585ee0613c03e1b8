import type { TimingOptions } from '@tenure/core/internal'

/** Long enough that a busy machine costs no term. For whatever does not wait for a lease to run out. */
export const PATIENT = {
  leaseDurationMs: 15_000,
  renewDeadlineMs: 10_000,
  retryPeriodMs: 1000,
  requestTimeoutMs: 2500,
  abortGraceMs: 2000,
  drainTimeoutMs: 15_000,
} as const satisfies TimingOptions

/** For deadlines in a process that many tests share, and that is not always on time. */
export const STEADY = {
  leaseDurationMs: 8000,
  renewDeadlineMs: 6000,
  retryPeriodMs: 500,
  requestTimeoutMs: 1500,
  abortGraceMs: 1200,
  drainTimeoutMs: 5000,
} as const satisfies TimingOptions

/** The shortest that is worth having, for whatever waits for a lease or a deadline to run out. */
export const BRISK = {
  leaseDurationMs: 4000,
  renewDeadlineMs: 3000,
  retryPeriodMs: 500,
  requestTimeoutMs: 800,
  abortGraceMs: 600,
  drainTimeoutMs: 5000,
} as const satisfies TimingOptions
