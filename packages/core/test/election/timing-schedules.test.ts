import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isAccepted, retryNearBorder, runSchedule, timingNearBorder } from './timing-schedules.ts'
import { overlapAfterCutOffMs, survivesOneLostRenewal } from './witness.ts'

const within = fc.constantFrom(0, 1, 3, 20, 100, 500)
const beyond = fc.constantFrom(-1, -2, -10, -50)

describe('Timing options', () => {
  test('that are accepted never let two terms run at once, on whatever clocks are tolerated', () => {
    let terms = 0
    fc.assert(
      fc.property(timingNearBorder(within), fc.nat(), (timing, seed) => {
        fc.pre(isAccepted(timing))
        terms += runSchedule(timing, seed)
      }),
      { numRuns: 150 },
    )
    expect(terms).toBeGreaterThan(150)
  })

  test('that leave far too little time are found out by random schedules', () => {
    const hasty = fc.sample(timingNearBorder(fc.constant(-3000)), { seed: 1, numRuns: 500 })
    const findOut = () => {
      for (const [seed, timing] of hasty.entries()) runSchedule(timing, seed)
    }
    expect(findOut).toThrow('began a term while tasks of')
  })

  test('that leave no time for the grace are refused, and each of them has a schedule on which two terms run at once', () => {
    fc.assert(
      fc.property(timingNearBorder(beyond), (timing) => {
        expect(isAccepted(timing)).toBe(false)
        expect(overlapAfterCutOffMs(timing)).toBeGreaterThan(0)
      }),
    )
  })

  test('that leave time for the grace have no overlap on that very schedule', () => {
    fc.assert(
      fc.property(timingNearBorder(within), (timing) => {
        fc.pre(isAccepted(timing))
        expect(overlapAfterCutOffMs(timing)).toBeLessThan(0.001)
      }),
    )
  })

  test('that leave no time for a second renewal are refused, and each of them loses its term with one renewal', () => {
    fc.assert(
      fc.property(retryNearBorder(fc.constantFrom(0, -1, -10, -50)), (timing) => {
        expect(isAccepted(timing)).toBe(false)
        expect(survivesOneLostRenewal(timing)).toBe(false)
      }),
    )
  })

  test('by default outlive a lost renewal', () => {
    const usual = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2000, requestTimeoutMs: 2500 }
    const timing = { ...usual, clockRateTolerance: 0.05, drainTimeoutMs: 20_000, abortGraceMs: 4000, acquireDelayMs: 0 }
    expect(survivesOneLostRenewal({ ...timing, wholeSecondPeers: true })).toBe(true)
  })
})
