import { expect, test } from 'vitest'
import { describeReport, simulateSeeds } from '../src/index.ts'
import { FencedLedger } from './ledger-controllers.ts'

const controllers = [(world: ConstructorParameters<typeof FencedLedger>[0]) => new FencedLedger(world)]

test.each(['OldestEmulationVersion', 'NewestVersion', 'disagreeing', 'newer-version', 'contradictory'] as const)(
  'replicas that choose by %s break no rule',
  async (strategy) => {
    for (const replicas of [2, 5]) {
      const { failures, terms } = await simulateSeeds({ controllers, strategy, replicas, seeds: 15 })
      expect(failures.map(describeReport)).toEqual([])
      expect(terms).toBeGreaterThan(20)
    }
  },
)

test.each(['OldestEmulationVersion', 'NewestVersion'] as const)(
  'a quiet fleet that chooses by %s changes its leader only for a better one',
  async (strategy) => {
    const { failures } = await simulateSeeds({ controllers, strategy, replicas: 6, faults: {}, seeds: 20 })
    expect(failures.map(describeReport)).toEqual([])
  },
)
