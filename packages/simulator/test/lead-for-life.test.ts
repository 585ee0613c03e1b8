import { expect, test } from 'vitest'
import { describeReport, simulate, simulateSeeds, type SimulationOptions } from '../src/index.ts'
import { FencedLedger } from './ledger-controllers.ts'

const FOR_LIFE: SimulationOptions = { controllers: [(world) => new FencedLedger(world)], heldForLife: true }

test.each<readonly [string, Partial<SimulationOptions>]>([
  ['three replicas', {}],
  ['five replicas that crash', { replicas: 5, faults: { crash: 240, partition: 60 } }],
  ['a lease that is often deleted', { faults: { 'lease-deleted': 240, partition: 120, pause: 60 } }],
  ['edited leases', { faults: { 'lease-edited': 240, 'step-down': 240, crash: 60 } }],
  ['no release', { manager: { featureGates: { ReleaseLockOnExit: false } } }],
  ['a Deployment', { rollouts: 'Deployment' }],
  ['a StatefulSet', { rollouts: 'StatefulSet' }],
])('a fleet that leads for life breaks no rule: %s', async (_, options) => {
  const { failures, terms } = await simulateSeeds({ ...FOR_LIFE, ...options, seeds: 12 })
  expect(failures.map(describeReport)).toEqual([])
  expect(terms).toBeGreaterThan(20)
})

test.each(['Deployment', 'StatefulSet'] as const)(
  'quiet rollouts of a %s hand a lease for life over',
  async (rollouts) => {
    const { failures, terms } = await simulateSeeds({ ...FOR_LIFE, rollouts, faults: {}, seeds: 12 })
    expect(failures.map(describeReport)).toEqual([])
    expect(terms).toBeGreaterThan(20)
  },
)

test('an election controller and a lease for life exclude each other', async () => {
  await expect(simulate({ ...FOR_LIFE, coordination: 'honest' })).rejects.toThrow(
    'Expected `coordination` to be left out with `heldForLife`, got `honest` (string)',
  )
})
