import { CacheBarrier } from '@tenure/core/internal'
import { expect, test, vi } from 'vitest'
import { describeReport, simulateSeeds, type SimulationOptions } from '../src/index.ts'
import { CachedLedger } from './ledger-controllers.ts'

const CACHED: SimulationOptions = {
  controllers: [(world) => new CachedLedger(world)],
  durationMs: 300_000,
  oracles: ['O10'],
}

const FAULTY_WATCHES = { 'watch-late': 120, 'watch-gap': 120, 'watch-reset': 120, partition: 120, 'slow-request': 0.1 }

test.each([
  ['replicas that step down', { faults: { 'step-down': 240, 'hand-over': 240 } }],
  ['replicas that are requested to step down', { faults: { 'step-down-requested': 480 } }],
  ['replicas that crash', { faults: { crash: 240, 'step-down': 120, 'lost-answer': 0.05, ...FAULTY_WATCHES } }],
  ['faulty watches', { faults: { 'step-down': 240, ...FAULTY_WATCHES } }],
  ['leaders of another client', { faults: { 'foreign-leader': 240, 'step-down': 240, 'watch-late': 60 } }],
  ['edited leases', { faults: { 'lease-edited': 240, 'lease-deleted': 60, 'step-down': 240 } }],
  ['a Deployment', { rollouts: 'Deployment' }],
  ['a StatefulSet', { rollouts: 'StatefulSet' }],
] satisfies readonly [string, Partial<SimulationOptions>][])(
  'a synced cache shows what earlier terms wrote: %s',
  async (_name, options) => {
    const { failures, terms } = await simulateSeeds({ ...CACHED, ...options, seeds: 40 })
    expect(failures.map(describeReport)).toEqual([])
    expect(terms).toBeGreaterThan(80)
  },
)

test('without the barrier, O10 is broken in at least two of a hundred runs', async () => {
  const wait = vi.spyOn(CacheBarrier.prototype, 'wait').mockResolvedValue()
  try {
    const { failures } = await simulateSeeds({ ...CACHED, rollouts: 'Deployment', seeds: 100, maxFailures: 2 })
    expect(failures.map(({ violations }) => violations[0]?.oracle)).toEqual(['O10', 'O10'])
  } finally {
    wait.mockRestore()
  }
})
