import { OptionsError } from '@tenure/core'
import { describe, expect, test } from 'vitest'
import { describeReport, simulate, simulateSeeds, type SimulationOptions } from '../src/index.ts'
import { CleaningUp, DESIRED, NeverDone, Oscillating, Reconciler, Recreating } from './reconcilers.ts'

const SOUND: SimulationOptions = { controllers: [(world) => new Reconciler(world)], desired: DESIRED }

describe('A controller that reaches the desired state and keeps it breaks no rule', () => {
  test.each([
    ['under faults', {}],
    ['with a short lease', { lease: { leaseDurationMs: 4000, renewDeadlineMs: 2500, retryPeriodMs: 500 } }],
    ['in a Deployment', { rollouts: 'Deployment' }],
    ['in a StatefulSet without faults', { rollouts: 'StatefulSet', faults: {} }],
    ['with leaders of another client', { faults: { 'foreign-leader': 240, 'step-down': 240 } }],
  ] satisfies readonly [string, Partial<SimulationOptions>][])('%s', async (_name, options) => {
    const { failures, terms } = await simulateSeeds({ ...SOUND, ...options, seeds: 30 })
    expect(failures.map(describeReport)).toEqual([])
    expect(terms).toBeGreaterThan(50)
  })
})

describe('O14 finds within 50 seeds', () => {
  test.each([
    ['a controller that never reaches it', NeverDone, {}, /after the last fault the store is not in the desired/],
    [
      'a controller that leaves it again and again',
      Oscillating,
      {},
      /wrote `child-1`, and the store left the desired state/,
    ],
    ['a controller that undoes it in every later term', CleaningUp, {}, /is not in the desired state/],
    [
      'a controller that undoes it for a moment',
      Recreating,
      { rollouts: 'Deployment' },
      /wrote `child-0`, and the store left/,
    ],
    ['the same without faults', Recreating, { rollouts: 'StatefulSet', faults: {} }, /wrote `child-0`, and the store/],
  ] as const)('%s', async (_name, Reconciling, options, message) => {
    const controllers = [(world: ConstructorParameters<typeof Reconciling>[0]) => new Reconciling(world)]
    const { failures } = await simulateSeeds({ ...options, controllers, desired: DESIRED, seeds: 50 })
    expect(failures.map(({ violations }) => violations.map(({ oracle }) => oracle))).toEqual([['O14']])
    expect(failures[0]?.violations[0]?.message).toMatch(message)
  })

  test.each([
    ['that throws', () => ({}) as never, /expected `desired.isReached\(\)` to return a boolean/],
    [
      'without an answer',
      () => {
        throw new Error('no such child')
      },
      /`desired.isReached\(\)` threw no such child/,
    ],
  ] as const)('a question %s', async (_name, isReached, message) => {
    const { violations } = await simulate({ ...SOUND, desired: { isReached }, faults: {} })
    expect(violations.map(({ oracle }) => oracle)).toEqual(['O14'])
    expect(violations[0]?.message).toMatch(message)
  })
})

test('O14 is not checked before the state is due', async () => {
  const { violations } = await simulate({
    controllers: [(world) => new NeverDone(world)],
    desired: { ...DESIRED, withinMs: 500_000 },
    calmMs: 600_000,
    durationMs: 600_000,
    faults: {},
  })
  expect(violations.map(({ at }) => at > 500_000 && at < 600_000)).toEqual([true])
})

describe('A desired state is refused', () => {
  test.each<readonly [string, unknown, RegExp]>([
    ['that is a function', () => true, /Expected `desired` to be an object/],
    ['that is null', null, /Expected `desired` to be an object, got `null`/],
    ['without a question', {}, /Expected `desired.isReached` to be a function, got `undefined`/],
    ['with an unknown option', { ...DESIRED, within: 3 }, /`within`/],
    ['with no time', { ...DESIRED, withinMs: 0 }, /Expected `desired.withinMs` to be a number .* above 0 and below/],
    ['that could never be checked', { ...DESIRED, withinMs: 1e9 }, /below \d+, so that a period without faults/],
  ])('%s', async (_name, desired, message) => {
    const error: unknown = await simulate({ ...SOUND, desired: desired as never }).catch((cause: unknown) => cause)
    expect(error).toBeInstanceOf(OptionsError)
    expect(String(error)).toMatch(message)
  })
})
