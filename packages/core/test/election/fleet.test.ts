import { describe, expect, test } from 'vitest'
import { resolveTimingOptions } from '../../src/election/timing-options.ts'
import { transition } from '../../src/election/machine/transition.ts'
import { Fleet, type FleetMachine, type FleetOptions } from './fleet.ts'
import {
  actsWithoutNonce,
  countsEpochsByAnswers,
  countsFromTheEvent,
  createReusingNonces,
  startsAgain,
  trustsNames,
} from './planted-transfers.ts'

const RUNS = 60
const FOR_LIFE = {
  timing: { ...resolveTimingOptions(), wholeSecondPeers: false },
  releaseOnExit: true,
  missingLease: 'wait',
  heldForLife: true,
} as const

const settings: readonly (readonly [string, Pick<FleetOptions, 'config' | 'stalls' | 'reusesIdentities'>])[] = [
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
    'with processes that take the identity of the one before',
    {
      stalls: false,
      reusesIdentities: true,
      config: { timing: resolveTimingOptions(), releaseOnExit: true, missingLease: 'create' },
    },
  ],
  ['whose holders keep the lease for life', { stalls: false, config: FOR_LIFE }],
  [
    'with processes that are suspended now and then',
    { stalls: true, config: { timing: resolveTimingOptions(), releaseOnExit: true, missingLease: 'wait' } },
  ],
]

describe.each(settings)('A disturbed fleet %s', (_name, setting) => {
  test('never has two terms at work at once, never hands out an epoch twice, and leads again when it is left alone', () => {
    let terms = 0
    let inheritances = 0
    let succeededDead = 0
    let createdAfterHeld = 0
    for (let seed = 1; seed <= RUNS; seed++) {
      const fleet = new Fleet({ seed, replicas: 3, ...setting })
      fleet.run(200_000, 90_000)
      terms += fleet.terms
      inheritances += fleet.inheritances
      succeededDead += fleet.succeededDead
      createdAfterHeld += fleet.createdAfterHeld
      const leaders = fleet.replicas.filter(({ state }) => state.kind === 'leading')
      expect(leaders.length, `leaders after the rest in the run with seed ${seed}`).toBe(1)
    }
    expect(terms).toBeGreaterThan(RUNS * 3)
    expect(inheritances).toBeGreaterThan(setting.config.releaseOnExit ? RUNS : -1)
    expect(succeededDead).toBeGreaterThan(RUNS / 4)
    expect(createdAfterHeld).toBeGreaterThan(setting.config === FOR_LIFE ? RUNS : -1)
  })
})

/** Acts at once in place of a leader for life whose lease was deleted. */
const actsInPlaceOfDeleted: FleetMachine = (_replica, ...input) => {
  const { state, effects } = transition(...input)
  if (state.kind !== 'reserving') return { state, effects }
  return { state: { ...state, memory: { ...state.memory, actNotBefore: undefined }, actAt: 0 }, effects }
}

/** Takes every deletion for that of the holder that was proved dead. */
const trustsAnyDeletion: FleetMachine = (_replica, state, event, context) => {
  const { deadHolder } = state.memory
  const { result } = event.kind === 'write-answer' ? event : {}
  if (event.kind !== 'write-answer' || result?.kind !== 'written' || deadHolder === undefined) {
    return transition(state, event, context)
  }
  const { lease } = result
  if (lease.replaced === undefined) return transition(state, event, context)
  const { identity: holderIdentity, acquireTime } = deadHolder
  const replaced = { ...lease.replaced, holderIdentity, acquireTime }
  return transition(state, { ...event, result: { ...result, lease: { ...lease, replaced } } }, context)
}

type PlantedOptions = Pick<FleetOptions, 'machine' | 'reusesIdentities'> & Partial<Pick<FleetOptions, 'config'>>

const PLANTED: readonly (readonly [string, () => PlantedOptions])[] = [
  ['acts at once after a leader for life', () => ({ machine: actsInPlaceOfDeleted, config: FOR_LIFE })],
  ['takes any deletion for that of a dead holder', () => ({ machine: trustsAnyDeletion, config: FOR_LIFE })],
  ['acts on a transfer without a nonce', () => ({ machine: actsWithoutNonce })],
  ['acts on a nonce that it has used', () => ({ machine: createReusingNonces() })],
  ['counts the time of a transfer from when it sees it', () => ({ machine: countsFromTheEvent })],
  ['starts its tasks again after a release of unknown outcome', () => ({ machine: startsAgain })],
  ['takes the version of its answer for its epoch', () => ({ machine: countsEpochsByAnswers })],
  ['takes a name for proof of death', () => ({ machine: trustsNames, reusesIdentities: true })],
]

describe('A fleet is caught whose machine', () => {
  test.each(PLANTED)('%s', (_name, plant) => {
    const runAll = () => {
      for (let seed = 1; seed <= 2500; seed++) {
        const config = { timing: resolveTimingOptions(), releaseOnExit: true, missingLease: 'create' } as const
        new Fleet({ seed, replicas: 3, stalls: false, config, ...plant() }).run(200_000, 0)
      }
    }
    expect(runAll).toThrow(/^seed \d+, at \d+ ms: /)
  })
})
