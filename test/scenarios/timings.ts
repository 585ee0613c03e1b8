import type { TimingOptions } from '@tenure/core/internal'

/** Long enough that no term ends on a busy machine. For tests that do not wait for a lease to expire. */
export const PATIENT = {
  leaseDurationMs: 15_000,
  renewDeadlineMs: 10_000,
  retryPeriodMs: 1000,
  requestTimeoutMs: 2500,
  abortGraceMs: 2000,
  drainTimeoutMs: 15_000,
} as const satisfies TimingOptions

/** For deadlines in a process that many tests share and that may be late. */
export const STEADY = {
  leaseDurationMs: 8000,
  renewDeadlineMs: 6000,
  retryPeriodMs: 500,
  requestTimeoutMs: 1500,
  abortGraceMs: 1200,
  drainTimeoutMs: 5000,
} as const satisfies TimingOptions

/** The shortest practical timing, for tests that wait for a lease or a deadline to expire. */
export const BRISK = {
  leaseDurationMs: 4000,
  renewDeadlineMs: 3000,
  retryPeriodMs: 500,
  requestTimeoutMs: 800,
  abortGraceMs: 600,
  drainTimeoutMs: 5000,
} as const satisfies TimingOptions
