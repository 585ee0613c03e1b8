import { resolveDurationMs } from '../options/duration.ts'
import { JITTER_FACTOR } from '../jitter.ts'
import { OptionsError } from '../options/options-error.ts'

/** Timing of the election and of drains, in milliseconds of the local monotonic clock. */
export interface TimingOptions {
  /** How long other replicas must not acquire the lease after they last saw it change. Whole seconds. @default 15000 */
  readonly leaseDurationMs?: number
  /**
   * A term ends involuntarily this long after the last acknowledged write was sent.
   * @default 10000, and at most two thirds of `leaseDurationMs`
   */
  readonly renewDeadlineMs?: number
  /** Time between renewals, and between polls while the watch is disconnected. @default 2000, and at most a fifth of `renewDeadlineMs` */
  readonly retryPeriodMs?: number
  /** Timeout of each lease request. @default a quarter of `renewDeadlineMs` */
  readonly requestTimeoutMs?: number
  /** The tolerated relative difference between the rates of the clocks of two replicas. @default 0.05 */
  readonly clockRateTolerance?: number
  /** How long tasks may take to finish by themselves after a voluntary end. @default 20000 */
  readonly drainTimeoutMs?: number
  /**
   * How long tasks may take to react to the hard abort.
   * @default 4000, and at most `leaseDurationMs` × (1 − `clockRateTolerance`) − `renewDeadlineMs`
   */
  readonly abortGraceMs?: number
  /** How long to hold a lease that another replica held before acting. For fleets with less strict clients. @default 0 */
  readonly acquireDelayMs?: number
}

/** {@link TimingOptions} with every default filled in and every relation checked. */
export interface ResolvedTimingOptions extends Required<TimingOptions> {
  /**
   * Whether a write counts as a renewal only in a new whole second. client-go and similar clients compare whole seconds, so they do not
   * see a second write within one second. False only if the lease is too short for this rule (`1000 + requestTimeoutMs ≥
   * renewDeadlineMs`). Such a lease is safe among Tenure replicas only.
   */
  readonly wholeSecondPeers: boolean
}

/** The default timeout of the cleanups of a controller. */
export const DEFAULT_CLEANUP_TIMEOUT_MS = 4000

/** The names of all {@link TimingOptions}. */
export const TIMING_OPTION_NAMES: readonly (keyof TimingOptions)[] = [
  'leaseDurationMs',
  'renewDeadlineMs',
  'retryPeriodMs',
  'requestTimeoutMs',
  'clockRateTolerance',
  'drainTimeoutMs',
  'abortGraceMs',
  'acquireDelayMs',
]

/** Fills in defaults and checks every relation. @throws OptionsError that names the relation that fails, with its numbers. */
export function resolveTimingOptions(options: TimingOptions = {}): ResolvedTimingOptions {
  const leaseDurationMs = resolveDurationMs('leaseDurationMs', options.leaseDurationMs, { fallback: 15_000, min: 1000 })
  const clockRateTolerance = resolveClockRateTolerance(options.clockRateTolerance)
  const renewDeadlineMs = resolveDurationMs('renewDeadlineMs', options.renewDeadlineMs, {
    fallback: Math.min(10_000, Math.floor((leaseDurationMs * 2) / 3)),
  })
  // Less than a fifteenth of the lease is too short for any task. A deadline that leaves less is refused.
  const graceRoomMs = Math.max(leaseDurationMs / 15, leaseDurationMs * (1 - clockRateTolerance) - renewDeadlineMs)
  const timing = {
    leaseDurationMs,
    renewDeadlineMs,
    retryPeriodMs: resolveDurationMs('retryPeriodMs', options.retryPeriodMs, {
      fallback: Math.min(2000, Math.max(1, Math.floor(renewDeadlineMs / 5))),
    }),
    requestTimeoutMs: resolveDurationMs('requestTimeoutMs', options.requestTimeoutMs, {
      fallback: renewDeadlineMs / 4,
    }),
    clockRateTolerance,
    drainTimeoutMs: resolveDurationMs('drainTimeoutMs', options.drainTimeoutMs, { fallback: 20_000, min: 0 }),
    abortGraceMs: resolveDurationMs('abortGraceMs', options.abortGraceMs, {
      fallback: Math.min(4000, Math.floor(graceRoomMs)),
      min: 0,
    }),
    acquireDelayMs: resolveDurationMs('acquireDelayMs', options.acquireDelayMs, { fallback: 0, min: 0 }),
  }
  assertRelations(timing)
  return { ...timing, wholeSecondPeers: 1000 + timing.requestTimeoutMs < renewDeadlineMs }
}

/** How long after the send of a renewal the replica may act: the lease duration minus the tolerated clock difference. */
export function validityMs(timing: ResolvedTimingOptions): number {
  return timing.leaseDurationMs * (1 - timing.clockRateTolerance)
}

function resolveClockRateTolerance(value: unknown): number {
  if (value === undefined) return 0.05
  if (typeof value === 'number' && value >= 0 && value < 1) return value
  throw OptionsError.expected(`\`clockRateTolerance\` to be at least 0 and below 1`, value)
}

function assertRelations(timing: Required<TimingOptions>): void {
  if (timing.leaseDurationMs % 1000 !== 0) {
    throw OptionsError.expected(
      `\`leaseDurationMs\` to be whole seconds, because the lease stores seconds`,
      timing.leaseDurationMs,
    )
  }
  const stopBy = timing.renewDeadlineMs + timing.abortGraceMs
  const validity = timing.leaseDurationMs * (1 - timing.clockRateTolerance)
  if (stopBy > validity) {
    throw new OptionsError(
      'Expected `renewDeadlineMs` + `abortGraceMs` to be at most `leaseDurationMs` × (1 − `clockRateTolerance`), so that a ' +
        `term is empty before another replica may lead, got \`${timing.renewDeadlineMs} + ${timing.abortGraceMs} > ${validity}\``,
    )
  }
  const slowestRetry = timing.retryPeriodMs * JITTER_FACTOR + timing.requestTimeoutMs
  if (slowestRetry >= timing.renewDeadlineMs) {
    throw new OptionsError(
      'Expected `retryPeriodMs` × 1.2 + `requestTimeoutMs` to be below `renewDeadlineMs`, so that one slow renewal does not ' +
        `end a term, got \`${timing.retryPeriodMs} × 1.2 + ${timing.requestTimeoutMs} ≥ ${timing.renewDeadlineMs}\``,
    )
  }
}
