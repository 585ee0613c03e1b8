import { type Controller, type LeaseOptions, type ManagerOptions, OptionsError } from '@tenure/core'
import {
  assertKnownKeys,
  type ResolvedTimingOptions,
  resolveTimingOptions,
  TIMING_OPTION_NAMES,
  type TimingOptions,
} from '@tenure/core/internal'
import { type FaultRates, resolveFaults } from './faults.ts'
import { ORACLE_IDS, type OracleId } from './violation.ts'
import type { SimulatedWorld } from './simulated-world.ts'

/** Builds a controller for a term, with the world of the simulation in place of the real one. */
export type SimulatedControllerFactory = (world: SimulatedWorld) => Controller

/** Options of `simulate()` and `simulateSeeds()`. */
export interface SimulationOptions {
  /** What every replica runs in its terms. */
  readonly controllers: readonly SimulatedControllerFactory[]
  /** How many replicas stand for the lease. @default 3 */
  readonly replicas?: number
  /** How much simulated time a run lasts, in milliseconds. @default 600000 */
  readonly durationMs?: number
  /** How often each fault happens; `{}` for none. @default every seed makes its own choice of all kinds */
  readonly faults?: FaultRates
  /** How long a disturbed time lasts on the average, in milliseconds. @default 120000 */
  readonly stormMs?: number
  /** How long the calm time after it lasts, in milliseconds. @default four lease durations and two minutes */
  readonly calmMs?: number
  /** The timing of the lease. @default that of Tenure */
  readonly lease?: TimingOptions & Pick<LeaseOptions, 'missingLease'>
  /** Which rules to judge by. @default all of them */
  readonly oracles?: readonly OracleId[]
  /** What else the managers are given. */
  readonly manager?: Pick<ManagerOptions, 'featureGates' | 'onWedged' | 'restart'>
}

/** {@link SimulationOptions} with every default filled in. */
export interface ResolvedSimulationOptions {
  readonly controllers: readonly SimulatedControllerFactory[]
  readonly replicas: number
  readonly durationMs: number
  readonly faults: FaultRates | undefined
  readonly stormMs: number
  readonly calmMs: number
  readonly lease: LeaseOptions
  readonly timing: ResolvedTimingOptions
  readonly oracles: readonly OracleId[]
  readonly manager: Pick<ManagerOptions, 'featureGates' | 'onWedged' | 'restart'>
}

const OPTION_NAMES: readonly (keyof SimulationOptions)[] = [
  'controllers',
  'replicas',
  'durationMs',
  'faults',
  'stormMs',
  'calmMs',
  'lease',
  'oracles',
  'manager',
]

/** Fills in defaults. @throws OptionsError naming the option that is wrong. */
export function resolveSimulationOptions(options: SimulationOptions): ResolvedSimulationOptions {
  assertKnownKeys('the options of the simulation', options, OPTION_NAMES)
  const { faults, lease = {}, manager = {} } = options
  const controllers = listOfFactories(options.controllers)
  const replicas = replicaCount(options.replicas)
  assertKnownKeys('`lease`', lease, [...TIMING_OPTION_NAMES, 'missingLease'])
  assertKnownKeys('`manager`', manager, ['featureGates', 'onWedged', 'restart'])
  const { missingLease = missingLeaseFor(faults), ...timing } = lease
  const resolvedTiming = resolveTimingOptions(timing)
  return {
    controllers,
    replicas,
    durationMs: positive('durationMs', options.durationMs, 600_000),
    faults: faults === undefined ? undefined : resolveFaults(faults),
    stormMs: positive('stormMs', options.stormMs, 120_000),
    calmMs: positive('calmMs', options.calmMs, 4 * resolvedTiming.leaseDurationMs + 120_000),
    lease: { ...timing, name: 'simulated', missingLease },
    timing: resolvedTiming,
    oracles: knownOracles(options.oracles ?? ORACLE_IDS),
    manager,
  }
}

/** Where a lease may be deleted, only `wait` keeps a replica that starts just then from acting beside a leader who has not seen it. */
function missingLeaseFor(faults: FaultRates | undefined): 'create' | 'wait' {
  return faults === undefined || (faults['lease-deleted'] ?? 0) > 0 ? 'wait' : 'create'
}

function listOfFactories(controllers: readonly SimulatedControllerFactory[]): readonly SimulatedControllerFactory[] {
  if (Array.isArray(controllers) && controllers.every((factory) => typeof factory === 'function')) return controllers
  throw OptionsError.expected(`\`controllers\` to be a list of functions that build a Controller`, controllers)
}

function replicaCount(replicas = 3): number {
  if (Number.isInteger(replicas) && replicas >= 1 && replicas <= 100) return replicas
  throw OptionsError.expected(`\`replicas\` to be a whole number from 1 to 100`, replicas)
}

function positive(name: string, value: unknown, fallback: number): number {
  if (value === undefined) return fallback
  if (typeof value === 'number' && Number.isFinite(value) && value > 0) return value
  throw OptionsError.expected(`\`${name}\` to be a number of milliseconds above 0`, value)
}

function knownOracles(oracles: readonly OracleId[]): readonly OracleId[] {
  for (const id of oracles) {
    if (ORACLE_IDS.includes(id)) continue
    throw OptionsError.expected(`\`oracles\` to be among ${ORACLE_IDS.join(', ')}`, id)
  }
  return oracles
}
