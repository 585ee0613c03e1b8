import { type Controller, type LeaseOptions, type ManagerOptions, OptionsError } from '@tenure/core'
import {
  assertKnownKeys,
  type ResolvedTimingOptions,
  resolveTimingOptions,
  TIMING_OPTION_NAMES,
  type TimingOptions,
} from '@tenure/core/internal'
import { SIMULATED_COORDINATIONS, type SimulatedCoordination } from './cluster/simulated-coordinator.ts'
import { SIMULATED_STRATEGIES, type SimulatedStrategy } from './cluster/simulated-strategy.ts'
import { LEASE_NAME } from './cluster/stored-lease.ts'
import { type DesiredState, resolveDesired } from './desired-state.ts'
import { type FaultRates, resolveFaults } from './faults.ts'
import { longestVacancyMs } from './oracles/longest-vacancy.ts'
import { ORACLE_IDS, type OracleId } from './violation.ts'
import type { SimulatedWorld } from './simulated-world.ts'

/** The kinds of workloads that roll out. */
const WORKLOAD_KINDS = ['Deployment', 'StatefulSet'] as const

/** A kind of workload. */
export type WorkloadKind = (typeof WORKLOAD_KINDS)[number]

/** Builds a controller for a term. `world` replaces the real world. */
export type SimulatedControllerFactory = (world: SimulatedWorld) => Controller

/** Options of `simulate()` and `simulateSeeds()`. */
export interface SimulationOptions {
  /** The controllers that every replica runs in its terms. */
  readonly controllers: readonly SimulatedControllerFactory[]
  /** How many replicas compete for the lease, from 1 to 100. @default 3 */
  readonly replicas?: number
  /** The length of a run in simulated milliseconds. @default 600000 */
  readonly durationMs?: number
  /** The rate of each fault; `{}` for none. @default each seed selects some */
  readonly faults?: FaultRates
  /** The average length of a period with faults, in milliseconds. @default 120000 */
  readonly stormMs?: number
  /** The length of each period without faults, in milliseconds. @default four lease durations and two minutes */
  readonly calmMs?: number
  /** Rolls the fleet out again and again, as this kind of workload does. Some rollouts are undone or stuck. @default no rollouts */
  readonly rollouts?: WorkloadKind
  /** How the replicas, which run versions that differ, choose who leads. @default they do not */
  readonly strategy?: SimulatedStrategy
  /** Lets an election controller name who leads. It chooses by the oldest version. @default the replicas decide */
  readonly coordination?: SimulatedCoordination
  /**
   * Lets leaders keep the lease for life, as with `lifeLock()`: it does not expire, and is deleted some time after its holder has ended.
   * @default false
   */
  readonly heldForLife?: boolean
  /** The timing of the lease. @default the timing of production */
  readonly lease?: TimingOptions & Pick<LeaseOptions, 'missingLease'>
  /** The rules to check. @default all */
  readonly oracles?: readonly OracleId[]
  /** The state that the controllers must reach and keep (O14). @default O14 is not checked */
  readonly desired?: DesiredState
  /**
   * Looks for fewer faults that break the same rule, with up to 300 more runs of a seed that breaks one. The report is about the run with
   * the fewest. @default false
   */
  readonly shrink?: boolean
  /** Further options of the managers. */
  readonly manager?: Pick<ManagerOptions, 'featureGates' | 'onWedged' | 'restart' | 'rollout'>
}

/** {@link SimulationOptions} with all defaults. */
export interface ResolvedSimulationOptions {
  readonly controllers: readonly SimulatedControllerFactory[]
  readonly replicas: number
  readonly durationMs: number
  readonly faults: FaultRates | undefined
  readonly stormMs: number
  readonly calmMs: number
  readonly rollouts: WorkloadKind | undefined
  readonly strategy: SimulatedStrategy | undefined
  readonly coordination: SimulatedCoordination | undefined
  readonly heldForLife: boolean
  readonly lease: LeaseOptions
  readonly timing: ResolvedTimingOptions
  readonly oracles: readonly OracleId[]
  readonly desired: Required<DesiredState> | undefined
  readonly shrink: boolean
  readonly manager: Pick<ManagerOptions, 'featureGates' | 'onWedged' | 'restart' | 'rollout'>
}

const OPTION_NAMES: readonly (keyof SimulationOptions)[] = [
  'controllers',
  'replicas',
  'durationMs',
  'faults',
  'stormMs',
  'calmMs',
  'rollouts',
  'strategy',
  'coordination',
  'heldForLife',
  'lease',
  'oracles',
  'desired',
  'shrink',
  'manager',
]

/** Applies the defaults. @throws OptionsError that names the invalid option. */
export function resolveSimulationOptions(options: SimulationOptions): ResolvedSimulationOptions {
  assertKnownKeys('the options of the simulation', options, OPTION_NAMES)
  const { faults, lease = {}, manager = {} } = options
  const controllers = listOfFactories(options.controllers)
  const replicas = replicaCount(options.replicas)
  assertKnownKeys('`lease`', lease, [...TIMING_OPTION_NAMES, 'missingLease'])
  assertKnownKeys('`manager`', manager, ['featureGates', 'onWedged', 'restart', 'rollout'])
  const heldForLife = flag('heldForLife', options.heldForLife)
  const { missingLease = heldForLife ? 'wait' : missingLeaseFor(faults), ...timing } = lease
  const resolvedTiming = resolveTimingOptions(timing)
  const rollouts = knownWorkload(options.rollouts)
  const durationMs = positive('durationMs', options.durationMs, 600_000)
  const calmMs = positive('calmMs', options.calmMs, 4 * resolvedTiming.leaseDurationMs + 120_000)
  return {
    controllers,
    replicas,
    durationMs,
    faults: faults === undefined ? undefined : resolveFaults(faults),
    stormMs: positive('stormMs', options.stormMs, 120_000),
    calmMs,
    rollouts,
    strategy: options.coordination === undefined ? knownStrategy(options.strategy) : 'OldestEmulationVersion',
    coordination: knownCoordination(options.coordination, heldForLife),
    heldForLife,
    lease: { ...timing, name: LEASE_NAME, missingLease },
    timing: resolvedTiming,
    oracles: knownOracles(options.oracles ?? ORACLE_IDS),
    desired: resolveDesired(
      options.desired,
      Math.min(calmMs, durationMs) - longestVacancyMs({ timing: resolvedTiming, heldForLife, rollouts }),
    ),
    shrink: flag('shrink', options.shrink),
    manager,
  }
}

/**
 * If the lease may be deleted, only `wait` is safe: a replica that starts after the deletion could act beside a leader that has not seen
 * it.
 */
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

function flag(name: string, value: unknown = false): boolean {
  if (typeof value === 'boolean') return value
  throw OptionsError.expected(`\`${name}\` to be true or false`, value)
}

function knownStrategy(strategy: SimulatedStrategy | undefined): SimulatedStrategy | undefined {
  if (strategy === undefined || SIMULATED_STRATEGIES.includes(strategy)) return strategy
  throw OptionsError.expected(`\`strategy\` to be one of ${SIMULATED_STRATEGIES.join(', ')}`, strategy)
}

function knownCoordination(
  kind: SimulatedCoordination | undefined,
  heldForLife: boolean,
): SimulatedCoordination | undefined {
  if (kind === undefined) return kind
  if (heldForLife) throw OptionsError.expected('`coordination` to be left out with `heldForLife`', kind)
  if (SIMULATED_COORDINATIONS.includes(kind)) return kind
  throw OptionsError.expected(`\`coordination\` to be one of ${SIMULATED_COORDINATIONS.join(', ')}`, kind)
}

function knownWorkload(kind: WorkloadKind | undefined): WorkloadKind | undefined {
  if (kind === undefined || WORKLOAD_KINDS.includes(kind)) return kind
  throw OptionsError.expected(`\`rollouts\` to be among ${WORKLOAD_KINDS.join(', ')}`, kind)
}

function knownOracles(oracles: readonly OracleId[]): readonly OracleId[] {
  for (const id of oracles) {
    if (ORACLE_IDS.includes(id)) continue
    throw OptionsError.expected(`\`oracles\` to be among ${ORACLE_IDS.join(', ')}`, id)
  }
  return oracles
}
