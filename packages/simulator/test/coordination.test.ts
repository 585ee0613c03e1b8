import { expect, test } from 'vitest'
import { describeReport, simulateSeeds } from '../src/index.ts'
import { FencedLedger } from './ledger-controllers.ts'

const controllers = [(world: ConstructorParameters<typeof FencedLedger>[0]) => new FencedLedger(world)]

test.each(['honest', 'lying', 'stalled', 'doubled', 'switched'] as const)(
  'a fleet under an election controller breaks no rule: %s',
  async (coordination) => {
    for (const replicas of [2, 5]) {
      const { failures, terms } = await simulateSeeds({ controllers, coordination, replicas, seeds: 6 })
      expect(failures.map(describeReport)).toEqual([])
      expect(terms).toBeGreaterThan(15)
    }
  },
)

test('a quiet fleet under an election controller changes its leader only for a better one', async () => {
  const { failures } = await simulateSeeds({ controllers, coordination: 'honest', replicas: 6, faults: {}, seeds: 8 })
  expect(failures.map(describeReport)).toEqual([])
})
