import { resolveTimingOptions } from '@tenure/core/internal'
import type { SimulationOptions } from '@tenure/simulator'
import { SIMULATED_COORDINATIONS } from '../../packages/simulator/src/cluster/simulated-coordinator.ts'
import { CachedLedger, Chore, ENDING, Ledger } from './controllers.ts'

/** A fleet. */
export interface Fleet {
  readonly name: string
  readonly options: SimulationOptions
}

/** A kind of fleet. */
interface Kind {
  readonly name: string
  /** The number of seeds, of every {@link SHARES}, that run with it. */
  readonly share: number
  /** @default plain */
  readonly controllers?: Controllers
  readonly options: Omit<SimulationOptions, 'controllers'>
}

/** The controllers of a fleet. `pause`: how many times longer than usual they pause. */
type Controllers = (pause: number) => SimulationOptions['controllers']

const MINUTE_MS = 60_000

const plain: Controllers = (pause) => [(world) => new Ledger(world, pause * MINUTE_MS), (world) => new Chore(world)]

/** Controllers that always end. */
const ending: Controllers = (pause) => [
  (world) => new Ledger(world, pause * MINUTE_MS),
  (world) => new Chore(world, ENDING),
]

const busy: Controllers = (pause) => [(world) => new Ledger(world, pause * 1000)]

const cached: Controllers = (pause) => [(world) => new CachedLedger(world, pause * 1000)]

/** The length of most runs. */
const durationMs = 10 * MINUTE_MS

/** The lease of OpenShift components, which tolerates a control plane that is down for a minute. Most of a day, with few faults. */
const SLOW: Kind['options'] = {
  durationMs: 1200 * MINUTE_MS,
  stormMs: 10 * MINUTE_MS,
  calmMs: 230 * MINUTE_MS,
  lease: { leaseDurationMs: 137_000, renewDeadlineMs: 107_000, retryPeriodMs: 26_000 },
}

/** How many times longer the controllers of a slow fleet pause. */
const SLOW_PAUSE = 15

/** Every kind of fleet. The shares sum up to {@link SHARES}. */
const KINDS: readonly Kind[] = [
  { name: 'default', share: 3, options: { durationMs } },
  { name: 'leader for life', share: 1, options: { durationMs, heldForLife: true } },
  {
    name: 'leader for life, the lease is often deleted',
    share: 1,
    options: {
      durationMs,
      heldForLife: true,
      faults: { 'lease-deleted': 120, 'lease-edited': 60, partition: 120, crash: 60, pause: 60, 'step-down': 60 },
    },
  },
  {
    name: 'leader for life in a Deployment',
    share: 1,
    controllers: ending,
    options: { durationMs, rollouts: 'Deployment', heldForLife: true },
  },
  { name: 'two replicas', share: 1, options: { durationMs, replicas: 2 } },
  {
    name: 'step-downs that somebody requests',
    share: 1,
    options: {
      durationMs,
      faults: { 'step-down-requested': 240, crash: 60, partition: 60 },
    },
  },
  { name: 'five replicas', share: 1, options: { durationMs, replicas: 5 } },
  {
    name: 'short lease',
    share: 1,
    options: {
      durationMs: 5 * MINUTE_MS,
      lease: {
        leaseDurationMs: 4000,
        renewDeadlineMs: 2500,
        retryPeriodMs: 500,
        abortGraceMs: 1000,
        drainTimeoutMs: 3000,
      },
    },
  },
  {
    name: 'busy ledger',
    share: 1,
    controllers: busy,
    options: { durationMs: 5 * MINUTE_MS },
  },
  {
    name: 'cached ledger',
    share: 1,
    controllers: cached,
    options: { durationMs: 5 * MINUTE_MS },
  },
  {
    name: 'cached ledger in a Deployment',
    share: 1,
    controllers: cached,
    options: {
      durationMs: 5 * MINUTE_MS,
      rollouts: 'Deployment',
    },
  },
  {
    name: 'no release',
    share: 1,
    options: {
      durationMs,
      manager: { featureGates: { ReleaseLockOnExit: false } },
    },
  },
  {
    name: 'wedged terms are held',
    share: 1,
    options: { durationMs, manager: { onWedged: 'hold' } },
  },
  {
    name: 'process ends with its term',
    share: 1,
    options: {
      durationMs,
      manager: { featureGates: { GracefulLeaderTransition: false } },
    },
  },
  {
    name: 'Deployment without faults',
    share: 1,
    controllers: ending,
    options: { durationMs, rollouts: 'Deployment', faults: {} },
  },
  { name: 'Deployment', share: 1, controllers: ending, options: { durationMs, rollouts: 'Deployment' } },
  {
    name: 'eager Deployment',
    share: 1,
    controllers: ending,
    options: { durationMs, rollouts: 'Deployment', manager: { rollout: 'eager' } },
  },
  {
    name: 'oldest version leads',
    share: 1,
    options: { durationMs, strategy: 'OldestEmulationVersion' },
  },
  {
    name: 'newest version leads, five replicas',
    share: 1,
    options: { durationMs, replicas: 5, strategy: 'NewestVersion' },
  },
  {
    name: 'comparisons disagree',
    share: 1,
    options: { durationMs, strategy: 'disagreeing' },
  },
  {
    name: 'comparisons of two versions',
    share: 1,
    options: { durationMs, strategy: 'newer-version' },
  },
  {
    name: 'comparison contradicts itself',
    share: 1,
    options: { durationMs, strategy: 'contradictory' },
  },
  { name: 'StatefulSet', share: 1, controllers: ending, options: { durationMs, rollouts: 'StatefulSet' } },
  ...SIMULATED_COORDINATIONS.map((coordination) => ({
    name: `${coordination} election controller`,
    share: 1,
    options: { durationMs, coordination },
  })),
  {
    name: 'election controller and a Deployment',
    share: 1,
    controllers: ending,
    options: { durationMs, rollouts: 'Deployment', coordination: 'switched' },
  },
  {
    name: 'durations that somebody shortens',
    share: 1,
    options: { durationMs, faults: { 'lease-shortened': 240, partition: 60 } },
  },
  { name: 'slow lease', share: 2, controllers: () => plain(SLOW_PAUSE), options: SLOW },
]

/** The kinds of fleets repeat after this many seeds. */
const SHARES = 34

/** From this seed on, runs are short, so that very many can run. The seeds before cover long runs. */
const FIRST_BRIEF_SEED = 25_000

/** From this seed on, every kind of fleet has a slow lease and runs for most of a day. */
const FIRST_SLOW_SEED = 10_000_000

/** The seeds of a hundred cluster-years: each kind of fleet with its own lease, and with a slow one. */
export const LONG = [
  { first: 0, end: FIRST_BRIEF_SEED },
  { first: FIRST_SLOW_SEED, end: FIRST_SLOW_SEED + 43_000 },
] as const

/** The fleet of a seed. */
export function fleetOf(seed: number): Fleet {
  const { name, controllers = plain, options } = kindAt(seed % SHARES)
  if (seed >= FIRST_SLOW_SEED)
    return { name: `${name}, slowly`, options: { ...options, ...SLOW, controllers: controllers(SLOW_PAUSE) } }
  const fleet = { ...options, controllers: controllers(1) }
  if (seed < FIRST_BRIEF_SEED) return { name, options: fleet }
  return { name: `${name}, briefly`, options: { ...fleet, ...briefly(options) } }
}

/** One period with faults, and a calm period that is long enough for a new leader. */
function briefly({ lease }: Kind['options']): Kind['options'] {
  const { leaseDurationMs } = resolveTimingOptions(lease)
  return { durationMs: 6 * leaseDurationMs, stormMs: 2 * leaseDurationMs, calmMs: 4 * leaseDurationMs }
}

function kindAt(place: number): Kind {
  let rest = place
  for (const kind of KINDS) {
    if (rest < kind.share) return kind
    rest -= kind.share
  }
  throw new Error(`Expected the shares of all kinds to sum up to ${SHARES}`)
}
