import type { SimulationOptions } from '@tenure/simulator'
import { mulberry32 } from '../../packages/core/test/election/fleet.ts'
import { SIMULATED_COORDINATIONS } from '../../packages/simulator/src/cluster/simulated-coordinator.ts'
import { SIMULATED_STRATEGIES } from '../../packages/simulator/src/cluster/simulated-strategy.ts'
import { CachedLedger, Chore, ENDING, Ledger } from './controllers.ts'

/** A simulation with settings in any combination. */
export interface DrawnSimulation {
  readonly options: SimulationOptions
  /** Whether the store goes back now and then. */
  readonly mayRestore: boolean
}

type FaultRates = NonNullable<SimulationOptions['faults']>

type Controllers = SimulationOptions['controllers']

const MINUTE_MS = 60_000

const DURATIONS_MS = [4000, 15_000, 30_000] as const

/** Incidents, of which each fleet with faults of its own has some, in numbers per hour. */
const INCIDENTS: readonly (keyof FaultRates)[] = [
  'crash',
  'restart',
  'eviction',
  'partition',
  'pause',
  'stall',
  'suspend',
  'step-down',
  'hand-over',
  'step-down-requested',
  'watch-gap',
  'watch-late',
  'server-restart',
  'lease-edited',
  'lease-deleted',
]

/** Faults of requests, of which each fleet with faults of its own has some, as shares. */
const REQUESTS: readonly (keyof FaultRates)[] = [
  'lost-request',
  'lost-answer',
  'slow-request',
  'duplicate',
  'conflict',
  'server-error',
]

/**
 * Draws the settings of a simulation. It leaves out combinations in which an oracle promises more than the fleet: rollouts with a strategy, with
 * an acquire delay, or of a StatefulSet with two replicas; leaders that do not release or do not end, where they lead for life, or where a
 * strategy or a controller chooses them; and an election controller, which has times of its own, with a lease of a few seconds.
 */
export function drawnSimulation(seed: number): DrawnSimulation {
  const random = mulberry32(seed)
  const pick = <T>(...list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
  const chance = (share: number): boolean => random() < share
  const heldForLife = chance(0.4)
  const rollouts = chance(0.4) ? pick('Deployment' as const, 'StatefulSet' as const) : undefined
  const mayRestore = chance(0.15)
  const isRolledOut = rollouts !== undefined
  const delayed = !isRolledOut && chance(0.2) && { acquireDelayMs: pick(700, 2000) }
  const faults: FaultRates | undefined = chance(0.6) || mayRestore ? drawnFaults(random, mayRestore) : undefined
  const steered = !heldForLife && chance(0.3)
  const strategy = steered && !isRolledOut && chance(0.5) ? pick(...SIMULATED_STRATEGIES) : undefined
  const coordination = steered && strategy === undefined ? pick(...SIMULATED_COORDINATIONS) : undefined
  const leaseDurationMs = coordination === undefined ? pick(...DURATIONS_MS) : pick(...DURATIONS_MS.slice(1))
  const controllers = pick<Controllers>(
    [(world) => new Ledger(world, MINUTE_MS), (world) => new Chore(world, isRolledOut ? ENDING : undefined)],
    [(world) => new CachedLedger(world, 1000)],
  )
  const options: SimulationOptions = {
    controllers,
    replicas: rollouts === 'StatefulSet' ? pick(3, 4, 5) : pick(2, 3, 4, 5),
    heldForLife,
    lease: { leaseDurationMs, retryPeriodMs: pick(leaseDurationMs / 7.5, leaseDurationMs / 20, 400), ...delayed },
    durationMs: pick(6, 12, 30) * leaseDurationMs,
    stormMs: pick(2, 4) * leaseDurationMs,
    calmMs: 5 * leaseDurationMs + MINUTE_MS,
    ...(rollouts && { rollouts }),
    ...(strategy && { strategy }),
    ...(coordination && { coordination }),
    ...(faults && { faults }),
    ...(mayRestore && { oracles: ['O3', 'O5', 'O7'] }),
    manager: isRolledOut ? drawnRollout(random) : steered || heldForLife ? {} : drawnManager(random),
  }
  return { options, mayRestore }
}

function drawnFaults(random: () => number, mayRestore: boolean): FaultRates {
  const some = (kinds: readonly (keyof FaultRates)[], rates: readonly number[]) =>
    kinds.flatMap((kind) => (random() < 0.4 ? [[kind, rates[Math.floor(random() * rates.length)]] as const] : []))
  const chosen = [...some(INCIDENTS, [30, 120, 400]), ...some(REQUESTS, [0.02, 0.1, 0.25])]
  return { ...Object.fromEntries(chosen), ...(mayRestore && { 'store-restored': 120 }) }
}

function drawnRollout(random: () => number): NonNullable<SimulationOptions['manager']> {
  return random() < 0.4 ? { rollout: 'eager' } : {}
}

function drawnManager(random: () => number): NonNullable<SimulationOptions['manager']> {
  const dice = random()
  if (dice < 0.25) return { featureGates: { ReleaseLockOnExit: false } }
  if (dice < 0.4) return { featureGates: { GracefulLeaderTransition: false } }
  return dice < 0.55 ? { onWedged: 'hold' } : {}
}
