import type { ResolvedTimingOptions } from '../timing-options.ts'

/**
 * How long to wait after a failed request: `leastMs`, or longer if the store asks for it, up to one lease duration. A store that asks for
 * hours must not keep a healthy fleet without a leader.
 */
export function pauseAfterFailureMs(
  retryAfterMs: number | undefined,
  leastMs: number,
  { leaseDurationMs }: ResolvedTimingOptions,
): number {
  return Math.min(Math.max(retryAfterMs ?? 0, leastMs), Math.max(leastMs, leaseDurationMs))
}
