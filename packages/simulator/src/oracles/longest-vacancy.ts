import type { ResolvedTimingOptions } from '@tenure/core/internal'

/** What decides how long a lease may be without a leader. */
interface VacancyOptions {
  readonly timing: ResolvedTimingOptions
  readonly heldForLife: boolean
  /** The kind of workload that rolls out; undefined if none does. */
  readonly rollouts: string | undefined
}

/**
 * How long the lease may be without a leader, without faults. It must expire, and twice if it was deleted: the new holder waits for
 * another lease duration. A request may be in flight, and a replica that stepped down does not acquire for a while. Each time is measured
 * on the slowest clock. A lease that is held for life is deleted instead, and everything takes twice as long if a rollout stops the replica
 * that waits.
 */
export function longestVacancyMs({ timing, heldForLife, rollouts }: VacancyOptions): number {
  const { leaseDurationMs, requestTimeoutMs, retryPeriodMs, clockRateTolerance } = timing
  const ms = 2 * leaseDurationMs + 2 * requestTimeoutMs + 6 * retryPeriodMs
  const times = heldForLife && rollouts !== undefined ? 2 : 1
  return Math.round(times * ms * (1 + clockRateTolerance))
}
