import fc from 'fast-check'
import { resolveTimingOptions, type ResolvedTimingOptions, validityMs } from '../../src/election/timing-options.ts'
import { OptionsError } from '../../src/options/options-error.ts'
import { Fleet } from './fleet.ts'

/** Timing options whose relations hold or fail by little: `slackMs` is what is left of the lease when the grace is over. */
export function timingNearBorder(slackMs: fc.Arbitrary<number>): fc.Arbitrary<ResolvedTimingOptions> {
  return fc
    .record({
      leaseSeconds: fc.integer({ min: 3, max: 60 }),
      clockRateTolerance: fc.constantFrom(0, 0.01, 0.05, 0.1, 0.2),
      graceShare: fc.double({ min: 0.01, max: 0.5, noNaN: true }),
      retryShare: fc.double({ min: 0.05, max: 0.5, noNaN: true }),
      timeoutShare: fc.double({ min: 0.05, max: 0.35, noNaN: true }),
      slackMs,
    })
    .map((shape) => {
      const leaseDurationMs = shape.leaseSeconds * 1000
      const validity = leaseDurationMs * (1 - shape.clockRateTolerance)
      const abortGraceMs = Math.round(validity * shape.graceShare)
      const renewDeadlineMs = validity - abortGraceMs - shape.slackMs
      return unchecked({
        leaseDurationMs,
        renewDeadlineMs,
        retryPeriodMs: renewDeadlineMs * shape.retryShare,
        requestTimeoutMs: renewDeadlineMs * shape.timeoutShare,
        clockRateTolerance: shape.clockRateTolerance,
        abortGraceMs,
      })
    })
}

/** Timing options by the sum of the slowest retry and the request timeout: `slackMs` is what is left until the deadline. */
export function retryNearBorder(slackMs: fc.Arbitrary<number>): fc.Arbitrary<ResolvedTimingOptions> {
  return fc
    .record({
      leaseSeconds: fc.integer({ min: 6, max: 60 }),
      deadlineShare: fc.double({ min: 0.3, max: 0.7, noNaN: true }),
      retryShare: fc.double({ min: 0.1, max: 0.7, noNaN: true }),
      slackMs,
    })
    .map(({ leaseSeconds, deadlineShare, retryShare, slackMs: slack }) => {
      const leaseDurationMs = leaseSeconds * 1000
      const renewDeadlineMs = Math.round(leaseDurationMs * deadlineShare)
      const retryPeriodMs = Math.round(renewDeadlineMs * retryShare)
      return unchecked({
        leaseDurationMs,
        renewDeadlineMs,
        retryPeriodMs,
        requestTimeoutMs: renewDeadlineMs - retryPeriodMs * 1.2 - slack,
        clockRateTolerance: 0.05,
        abortGraceMs: 100,
      })
    })
}

/** Whether the options are accepted. */
export function isAccepted(timing: ResolvedTimingOptions): boolean {
  const { wholeSecondPeers: _, ...options } = timing
  try {
    resolveTimingOptions(options)
    return true
  } catch (error) {
    if (error instanceof OptionsError) return false
    throw error
  }
}

/**
 * Runs one random schedule of three replicas with these options, on clocks that differ by as much as is tolerated. Returns how
 * many terms there were. @throws Error when tasks of two terms ran at once.
 */
export function runSchedule(timing: ResolvedTimingOptions, seed: number): number {
  const fleet = new Fleet({
    seed,
    replicas: 3,
    stalls: false,
    obedient: true,
    config: { timing, releaseOnExit: true, missingLease: 'wait' },
  })
  fleet.run(validityMs(timing) * 5, 0)
  return fleet.terms
}

function unchecked(
  timing: Omit<ResolvedTimingOptions, 'drainTimeoutMs' | 'acquireDelayMs' | 'wholeSecondPeers'>,
): ResolvedTimingOptions {
  const wholeSecondPeers = 1000 + timing.requestTimeoutMs < timing.renewDeadlineMs
  return { ...timing, drainTimeoutMs: timing.leaseDurationMs, acquireDelayMs: 0, wholeSecondPeers }
}
