import { describe, expect, test } from 'vitest'
import { resolveTimingOptions } from '../../src/election/timing-options.ts'
import { Fleet, type FleetOptions } from './fleet.ts'

const RUNS = 60
const settings: readonly (readonly [string, Pick<FleetOptions, 'config' | 'stalls'>])[] = [
  [
    'with a lease that nobody deletes',
    { stalls: false, config: { timing: resolveTimingOptions(), releaseOnExit: true, missingLease: 'create' } },
  ],
  [
    'with a lease that is deleted now and then',
    { stalls: false, config: { timing: resolveTimingOptions(), releaseOnExit: true, missingLease: 'wait' } },
  ],
  [
    'without releases',
    { stalls: false, config: { timing: resolveTimingOptions(), releaseOnExit: false, missingLease: 'wait' } },
  ],
  [
    'with a retry period below a second and a cautious acquire',
    {
      stalls: false,
      config: {
        timing: resolveTimingOptions({ retryPeriodMs: 400, acquireDelayMs: 700 }),
        releaseOnExit: true,
        missingLease: 'wait',
      },
    },
  ],
  [
    'with processes that are suspended now and then',
    { stalls: true, config: { timing: resolveTimingOptions(), releaseOnExit: true, missingLease: 'wait' } },
  ],
]

describe.each(settings)('A disturbed fleet %s', (_name, setting) => {
  test('never has two terms at work at once, never hands out an epoch twice, and leads again when it is left alone', () => {
    let terms = 0
    for (let seed = 1; seed <= RUNS; seed++) {
      const fleet = new Fleet({ seed, replicas: 3, ...setting })
      fleet.run(200_000, 90_000)
      terms += fleet.terms
      const leaders = fleet.replicas.filter(({ state }) => state.kind === 'leading')
      expect(leaders.length, `leaders after the rest in the run with seed ${seed}`).toBe(1)
    }
    expect(terms).toBeGreaterThan(RUNS * 3)
  })
})
