import {
  DEFAULT_CLEANUP_TIMEOUT_MS,
  resolveTimingOptions,
  validityMs,
} from '../../../packages/core/src/election/timing-options.ts'
import { drawTimeLine } from './time-line.ts'

/* The two ways in which a term ends, with the default budgets. */
const timing = resolveTimingOptions()
const { drainTimeoutMs, abortGraceMs, renewDeadlineMs, leaseDurationMs } = timing
const validMs = validityMs(timing)
const seconds = (ms: number) => `${ms / 1000} s`

/** A stop or a step-down: the lease is renewed until nothing of the term is left. */
export function voluntaryEnd(): string {
  const wedgedMs = drainTimeoutMs + abortGraceMs
  const endMs = wedgedMs + DEFAULT_CLEANUP_TIMEOUT_MS
  return drawTimeLine({
    title: 'Voluntary end of a term: each budget used up',
    lengthMs: endMs + 2500,
    moments: [
      { at: 0, label: '0: stop() or stepDown(): term.signal aborts' },
      { at: drainTimeoutMs, label: `${seconds(drainTimeoutMs)}: term.hardSignal aborts` },
      { at: wedgedMs, label: `${seconds(wedgedMs)}: a task is left: wedged, exit code 11` },
      { at: endMs, label: `${seconds(endMs)}: a cleanup is left: wedged` },
    ],
    lanes: [
      {
        name: 'tasks',
        bars: [
          { from: 0, to: drainTimeoutMs, label: `may finish: drainTimeoutMs ${seconds(drainTimeoutMs)}`, look: 'wait' },
          { from: drainTimeoutMs, to: wedgedMs, label: `abortGraceMs ${seconds(abortGraceMs)}`, look: 'hard' },
        ],
      },
      {
        name: 'cleanups',
        bars: [
          {
            from: wedgedMs,
            to: endMs,
            label: `cleanupTimeoutMs ${seconds(DEFAULT_CLEANUP_TIMEOUT_MS)}`,
            look: 'hard',
          },
        ],
      },
      { name: 'renewals', bars: [{ from: 0, to: endMs, label: 'go on', look: 'go' }] },
      { name: 'gated writes', bars: [{ from: 0, to: endMs, label: 'pass', look: 'go' }] },
      {
        name: 'lease',
        bars: [
          { from: 0, to: endMs, label: 'held', look: 'wait' },
          { from: endMs, to: endMs + 2500, label: 'free', look: 'none' },
        ],
      },
    ],
    notes: [
      'A term that drains earlier releases earlier: cleanups start when the last task ends, and the release follows at once.',
      'A wedged term is never released.',
    ],
  })
}

/** Renewals fail: the term must be empty before another replica may lead. */
export function involuntaryEnd(): string {
  const hardMs = validMs - abortGraceMs
  return drawTimeLine({
    title: 'Involuntary end of a term: renewals fail',
    lengthMs: leaseDurationMs + 2500,
    moments: [
      { at: 0, label: '0: the last acknowledged renewal is sent' },
      { at: renewDeadlineMs, label: `${seconds(renewDeadlineMs)}: renewDeadlineMs: term.signal aborts` },
      { at: hardMs, label: `${seconds(hardMs)}: abortGraceMs before validUntil: term.hardSignal aborts` },
      { at: validMs, label: `${seconds(validMs)}: validUntil: what is left is wedged, exit code 11` },
      { at: leaseDurationMs, label: `${seconds(leaseDurationMs)}: leaseDurationMs: others may acquire` },
    ],
    lanes: [
      {
        name: 'tasks',
        bars: [
          { from: 0, to: renewDeadlineMs, label: 'run', look: 'go' },
          { from: renewDeadlineMs, to: validMs, label: 'end', look: 'hard' },
        ],
      },
      { name: 'cleanups', bars: [{ from: hardMs, to: validMs, label: 'until validUntil', look: 'hard' }] },
      {
        name: 'renewals',
        bars: [{ from: 0, to: renewDeadlineMs, label: 'are tried every retryPeriodMs', look: 'late' }],
      },
      {
        name: 'gated writes',
        bars: [
          { from: 0, to: validMs, label: 'pass', look: 'go' },
          { from: validMs, to: leaseDurationMs + 2500, label: 'refused', look: 'late' },
        ],
      },
      {
        name: 'lease',
        bars: [
          { from: 0, to: leaseDurationMs, label: 'held, as followers see it', look: 'wait' },
          { from: leaseDurationMs, to: leaseDurationMs + 2500, label: 'expired', look: 'none' },
        ],
      },
    ],
    notes: [
      `Between validUntil and the expiry lies the margin for clock rates: leaseDurationMs × clockRateTolerance = ${seconds(leaseDurationMs - validMs)}.`,
      'Followers count from when they saw the renewal, which is later than when it was sent.',
      'Another holder on the lease aborts both signals and closes the write gate at once.',
    ],
  })
}
