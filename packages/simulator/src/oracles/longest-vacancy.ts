import type { Run } from '../run.ts'

/**
 * How long the lease may be without a leader, without faults. It must expire, and twice if it was deleted: the new holder waits for
 * another lease duration. A request may be in flight, and a replica that stepped down does not acquire for a while. Each time is measured
 * on the slowest clock.
 */
export function longestVacancyMs({ timing }: Pick<Run, 'timing'>): number {
  const { leaseDurationMs, requestTimeoutMs, retryPeriodMs, clockRateTolerance } = timing
  const ms = 2 * leaseDurationMs + 2 * requestTimeoutMs + 6 * retryPeriodMs
  return Math.round(ms * (1 + clockRateTolerance))
}
