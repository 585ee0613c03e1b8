import { expect, test } from 'vitest'
import { describeReport, simulateSeeds, type SimulationOptions } from '../src/index.ts'
import { CachedLedger, FencedLedger } from './ledger-controllers.ts'
import { Dispatcher, Reconciler, StaleDispatcher } from './reconcilers.ts'

const FAULTY_WATCHES = { 'watch-late': 120, 'watch-gap': 120, 'watch-reset': 120, partition: 120, 'slow-request': 0.1 }
const HAND_OVERS = { 'step-down': 240, 'hand-over': 240, crash: 120 }

test.each([
  ['that reads from the database', (world) => new Reconciler(world)],
  ['that reads, changes and writes', (world) => new FencedLedger(world)],
  ['that waits for its cache', (world) => new Dispatcher(world)],
  ['that waits for its cache, and writes as it ends', (world) => new CachedLedger(world)],
] satisfies readonly [string, SimulationOptions['controllers'][number]][])(
  'a controller %s acts on fresh views',
  async (_name, factory) => {
    const { failures, terms } = await simulateSeeds({
      controllers: [factory],
      faults: { ...HAND_OVERS, ...FAULTY_WATCHES, 'lost-answer': 0.05 },
      durationMs: 300_000,
      oracles: ['O15'],
      seeds: 40,
    })
    expect(failures.map(describeReport)).toEqual([])
    expect(terms).toBeGreaterThan(150)
  },
)

test.each([
  ['by default', {}],
  ['in a Deployment without faults', { rollouts: 'Deployment', faults: {} }],
  ['with late watches', { faults: { ...HAND_OVERS, ...FAULTY_WATCHES } }],
] satisfies readonly [string, Partial<SimulationOptions>][])(
  'O15 finds a controller that does not wait for its cache within 200 seeds, %s',
  async (_name, options) => {
    const controllers: SimulationOptions['controllers'] = [(world) => new StaleDispatcher(world)]
    const { failures } = await simulateSeeds({ ...options, controllers, seeds: 200 })
    expect(failures.map(({ violations }) => violations.map(({ oracle }) => oracle))).toEqual([['O15']])
    expect(failures[0]?.violations[0]?.message).toMatch(
      /wrote `job` with version \d+ of `next` in view, but version \d+ had been written before it/,
    )
  },
)
