import { type ResolvedTimingOptions, resolveTimingOptions } from '../../packages/core/src/election/timing-options.ts'

/** The ticks of a lease duration, and those for which a write entitles its sender to act. */
export const LEASE_TICKS = 3
const VALID_TICKS = 2

const LEASE_MS = 5000

/** A tick in milliseconds: a little more than a third of a lease, so that no rounding keeps a deadline from being reached. */
export const TICK_MS = LEASE_MS / LEASE_TICKS + 0.001

/** Far less than a tick. What is due within this time is due now. */
export const SLACK_MS = 50

/** The length of a timer shows whether it is that of a request: no other timer has this length. */
export const REQUEST_TIMEOUT_MS = 1250.062_5

/** So short that a release is given up at once. */
export const SHORT_REQUEST_TIMEOUT_MS = 20.062_5

/**
 * Three ticks of lease, two of validity. A renewal is due after one tick. The lease lasts as long as a transfer protects its new holder, so
 * that one length of the tick fits both.
 */
export function timingWith(requestTimeoutMs: number): ResolvedTimingOptions {
  return resolveTimingOptions({
    leaseDurationMs: LEASE_MS,
    renewDeadlineMs: (LEASE_MS * VALID_TICKS) / LEASE_TICKS,
    retryPeriodMs: LEASE_MS / LEASE_TICKS + 0.8 * SLACK_MS,
    requestTimeoutMs,
    clockRateTolerance: 1 / LEASE_TICKS,
    drainTimeoutMs: 1e9,
    abortGraceMs: 0,
  })
}

/** Whole ticks left until a time. */
export function ticksUntil(at: number, now: number): number {
  return Math.max(0, Math.round((at - now) / TICK_MS))
}
