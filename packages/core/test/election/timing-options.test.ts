import { describe, expect, test } from 'vitest'
import {
  resolveTimingOptions,
  TIMING_OPTION_NAMES,
  type TimingOptions,
  validityMs,
} from '../../src/election/timing-options.ts'
import { OptionsError } from '../../src/options/options-error.ts'

describe('Timing options', () => {
  test('have the documented defaults', () => {
    expect(resolveTimingOptions()).toEqual({
      leaseDurationMs: 15_000,
      renewDeadlineMs: 10_000,
      retryPeriodMs: 2000,
      requestTimeoutMs: 2500,
      clockRateTolerance: 0.05,
      drainTimeoutMs: 20_000,
      abortGraceMs: 4000,
      acquireDelayMs: 0,
      wholeSecondPeers: true,
    })
  })

  test('scale down where a shorter lease leaves less time', () => {
    expect(resolveTimingOptions({ leaseDurationMs: 3000, renewDeadlineMs: 2000, retryPeriodMs: 500 })).toMatchObject({
      requestTimeoutMs: 500,
      abortGraceMs: 850,
    })
    expect(resolveTimingOptions({ leaseDurationMs: 6000 })).toMatchObject({
      renewDeadlineMs: 4000,
      retryPeriodMs: 800,
      requestTimeoutMs: 1000,
      abortGraceMs: 1700,
    })
    expect(resolveTimingOptions({ leaseDurationMs: 60_000 })).toMatchObject({
      renewDeadlineMs: 10_000,
      retryPeriodMs: 2000,
      abortGraceMs: 4000,
    })
  })

  test('fit together by default for every lease duration and every tolerance that leaves room', () => {
    for (let seconds = 1; seconds <= 120; seconds++) {
      for (const clockRateTolerance of [0, 0.05, 0.1, 0.2]) {
        expect(() => resolveTimingOptions({ leaseDurationMs: seconds * 1000, clockRateTolerance })).not.toThrow()
      }
    }
  })

  test('bound a request by a quarter of the renew deadline', () => {
    expect(resolveTimingOptions({ renewDeadlineMs: 8000 }).requestTimeoutMs).toBe(2000)
  })

  test('are all listed by name', () => {
    const { wholeSecondPeers: _, ...options } = resolveTimingOptions()
    expect([...TIMING_OPTION_NAMES].sort()).toEqual(Object.keys(options).sort())
  })

  test('give a validity that is shorter than the lease by what clock rates may differ', () => {
    expect(validityMs(resolveTimingOptions())).toBe(14_250)
  })

  test('accept a term that is empty exactly when its lease is over', () => {
    expect(() => resolveTimingOptions({ renewDeadlineMs: 10_250, abortGraceMs: 4000 })).not.toThrow()
  })

  test('care for whole-second clients only where the lease is long enough to renew in a new second', () => {
    const short = { leaseDurationMs: 2000, renewDeadlineMs: 1200, retryPeriodMs: 300, abortGraceMs: 500 }
    expect(resolveTimingOptions({ ...short, requestTimeoutMs: 199 }).wholeSecondPeers).toBe(true)
    expect(resolveTimingOptions({ ...short, requestTimeoutMs: 200 }).wholeSecondPeers).toBe(false)
  })

  const refused: readonly (readonly [TimingOptions, string])[] = [
    [
      { leaseDurationMs: 15_500 },
      'Expected `leaseDurationMs` to be whole seconds, because the lease stores seconds, got `15500`',
    ],
    [
      { renewDeadlineMs: 10_251, abortGraceMs: 4000 },
      'Expected `renewDeadlineMs` + `abortGraceMs` to be at most `leaseDurationMs` × (1 − `clockRateTolerance`), so that a term is ' +
        'empty before another replica may lead, got `10251 + 4000 > 14250`',
    ],
    [{ clockRateTolerance: 0.1, abortGraceMs: 4000 }, 'got `10000 + 4000 > 13500`'],
    [{ renewDeadlineMs: 13_500 }, 'got `13500 + 1000 > 14250`'],
    [{ abortGraceMs: 4251 }, 'got `10000 + 4251 > 14250`'],
    [{ leaseDurationMs: 14_000, renewDeadlineMs: 10_000, abortGraceMs: 4000 }, 'got `10000 + 4000 > 13300`'],
    [
      { retryPeriodMs: 6250 },
      'Expected `retryPeriodMs` × 1.2 + `requestTimeoutMs` to be below `renewDeadlineMs`, so that one slow renewal does not end ' +
        'a term, got `6250 × 1.2 + 2500 ≥ 10000`',
    ],
    [{ requestTimeoutMs: 7600 }, 'got `2000 × 1.2 + 7600 ≥ 10000`'],
    [{ clockRateTolerance: 1 }, 'Expected `clockRateTolerance` to be at least 0 and below 1, got `1`'],
    [{ clockRateTolerance: -0.1 }, 'Expected `clockRateTolerance` to be at least 0 and below 1, got `-0.1`'],
    [{ leaseDurationMs: 500 }, 'Expected `leaseDurationMs` to be a number of milliseconds of at least 1000, got `500`'],
    [{ renewDeadlineMs: 0 }, 'Expected `renewDeadlineMs` to be a number of milliseconds of at least 1, got `0`'],
    [{ retryPeriodMs: Number.NaN }, 'Expected `retryPeriodMs` to be a number of milliseconds of at least 1, got `NaN`'],
    [{ requestTimeoutMs: Number.POSITIVE_INFINITY }, 'Expected `requestTimeoutMs` to be a number of milliseconds'],
    [{ drainTimeoutMs: -1 }, 'Expected `drainTimeoutMs` to be a number of milliseconds of at least 0, got `-1`'],
    [{ abortGraceMs: -1 }, 'Expected `abortGraceMs` to be a number of milliseconds of at least 0, got `-1`'],
    [{ acquireDelayMs: -1 }, 'Expected `acquireDelayMs` to be a number of milliseconds of at least 0, got `-1`'],
  ]
  test.each(refused)('%o are refused with the relation and the numbers', (options, message) => {
    expect(() => resolveTimingOptions(options)).toThrow(OptionsError)
    expect(() => resolveTimingOptions(options)).toThrow(message)
  })
})
