import { Controller, type Term } from '@tenure/core'
import { expect, test } from 'vitest'
import { describeReport, simulateSeeds, type SimulatedWorld, type SimulationOptions } from '../src/index.ts'
import { FencedLedger } from './ledger-controllers.ts'

/** Drains for up to two seconds, so that most terms end with a transfer. */
class Lingering extends Controller {
  readonly name = 'lingering'
  readonly #world: SimulatedWorld

  constructor(world: SimulatedWorld) {
    super()
    this.#world = world
  }

  async run(term: Term): Promise<void> {
    await term.spawn('linger', (signal) => this.#linger(signal), { finishOnDrain: true })
  }

  #linger(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const { clock, random } = this.#world
    signal.addEventListener('abort', () => clock.setTimer(random() * 2000, resolve), { once: true })
    return promise
  }
}

const PROMPT: SimulationOptions = { controllers: [(world) => new FencedLedger(world)], durationMs: 300_000 }

const LINGERING: SimulationOptions = {
  controllers: [(world) => new FencedLedger(world), (world) => new Lingering(world)],
  durationMs: 600_000,
}

const EAGER = { rollout: 'eager' } as const

test.each([
  ['a Deployment', { ...PROMPT, rollouts: 'Deployment', faults: {} }],
  ['an eager Deployment', { ...PROMPT, rollouts: 'Deployment', manager: EAGER, faults: {} }],
  ['a StatefulSet', { ...PROMPT, rollouts: 'StatefulSet', faults: {} }],
  ['an eager StatefulSet', { ...PROMPT, rollouts: 'StatefulSet', manager: EAGER, faults: {} }],
  ['a Deployment with faults', { ...LINGERING, rollouts: 'Deployment' }],
  ['a StatefulSet with faults', { ...LINGERING, rollouts: 'StatefulSet' }],
  [
    'an eager Deployment that crashes',
    { ...LINGERING, rollouts: 'Deployment', manager: EAGER, faults: { crash: 200 } },
  ],
] as const)('rollouts of %s break no rule', async (_, options) => {
  const { failures, terms } = await simulateSeeds({ ...options, seeds: 30 })
  expect(failures.map(describeReport)).toEqual([])
  expect(terms).toBeGreaterThan(100)
})
