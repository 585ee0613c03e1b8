import { Controller, type Term } from '@tenure/core'
import { describe, expect, test } from 'vitest'
import { describeReport, simulateSeeds, type SimulatedWorld, type SimulationOptions } from '../src/index.ts'
import { fewChanges } from '../src/oracles/few-changes.ts'
import { tell } from '../src/oracles/oracle.ts'
import type { ProcessLife } from '../src/process-life.ts'
import type { Run } from '../src/run.ts'
import { TermLife } from '../src/term-life.ts'
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

describe('O8', () => {
  const processOf = (identity: string): ProcessLife => ({
    identity,
    grade: undefined,
    isAlive: true,
    isStopping: false,
    isEntitled: false,
    isExcused: false,
  })

  /** What O8 says where a rollout changes the leader twice, and a replica is asked to stop this long after the first change. */
  const verdictOn = (stop: { readonly afterMs: number; readonly of: 'leader' | 'standby' }) => {
    const run = { now: 0, isCalm: true, timing: { leaseDurationMs: 15_000 } }
    const messages: string[] = []
    const judge = fewChanges.judge(run as Run, (message) => messages.push(message))
    const [leader, ...successors] = ['a', 'b', 'c'].map(processOf)
    const leads = (process?: ProcessLife) => {
      if (process !== undefined) tell(judge, { kind: 'term-began', term: new TermLife(process, 'lease', 1n) })
    }
    tell(judge, { kind: 'calm' })
    leads(leader)
    run.now = 60_000
    tell(judge, { kind: 'rollout-began', what: 'a rollout', maxChanges: 1 })
    leads(successors[0])
    run.now += stop.afterMs
    tell(judge, { kind: 'process-stopping', process: successors[stop.of === 'leader' ? 0 : 1] ?? processOf('d') })
    leads(successors[1])
    return messages
  }

  test('allows one more change where a leader is asked to stop before a standby can have joined its list', () => {
    expect(verdictOn({ afterMs: 100, of: 'leader' })).toEqual([])
  })

  test.each([
    ['later', { afterMs: 200, of: 'leader' }],
    ['that does not lead', { afterMs: 100, of: 'standby' }],
  ] as const)('allows none where a replica is asked to stop %s', (_, stop) => {
    expect(verdictOn(stop)).toEqual(['a rollout has changed the leader 2 times, to c at last'])
  })
})
