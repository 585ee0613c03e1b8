import { resolveTimingOptions } from '@tenure/core/internal'
import type { SimulationOptions } from '@tenure/simulator'
import { SIMULATED_COORDINATIONS } from '../../packages/simulator/src/cluster/simulated-coordinator.ts'
import { CachedLedger, Chore, ENDING, Ledger } from './controllers.ts'

/** A kind of fleet. */
export interface Fleet {
  readonly name: string
  /** The number of seeds, of every {@link SHARES}, that run with it. */
  readonly share: number
  readonly options: SimulationOptions
}

const MINUTE_MS = 60_000

/** The controllers of every fleet. */
const controllers: SimulationOptions['controllers'] = [
  (world) => new Ledger(world, MINUTE_MS),
  (world) => new Chore(world),
]

/** Fleets that are rolled out, of controllers that always end. */
const rolledOut: SimulationOptions = {
  controllers: [(world) => new Ledger(world, MINUTE_MS), (world) => new Chore(world, ENDING)],
  durationMs: 10 * MINUTE_MS,
}

/** The lease of OpenShift components, which tolerates a control plane that is down for a minute. */
const SLOW_LEASE = { leaseDurationMs: 137_000, renewDeadlineMs: 107_000, retryPeriodMs: 26_000 } as const

/** Every kind of fleet. The shares sum up to {@link SHARES}. */
const FLEETS: readonly Fleet[] = [
  { name: 'default', share: 3, options: { controllers, durationMs: 10 * MINUTE_MS } },
  { name: 'leader for life', share: 1, options: { controllers, durationMs: 10 * MINUTE_MS, heldForLife: true } },
  {
    name: 'leader for life, the lease is often deleted',
    share: 1,
    options: {
      controllers,
      durationMs: 10 * MINUTE_MS,
      heldForLife: true,
      faults: { 'lease-deleted': 120, 'lease-edited': 60, partition: 120, crash: 60, pause: 60, 'step-down': 60 },
    },
  },
  {
    name: 'leader for life in a Deployment',
    share: 1,
    options: { ...rolledOut, rollouts: 'Deployment', heldForLife: true },
  },
  { name: 'two replicas', share: 1, options: { controllers, durationMs: 10 * MINUTE_MS, replicas: 2 } },
  {
    name: 'step-downs that somebody requests',
    share: 1,
    options: {
      controllers,
      durationMs: 10 * MINUTE_MS,
      faults: { 'step-down-requested': 240, crash: 60, partition: 60 },
    },
  },
  { name: 'five replicas', share: 1, options: { controllers, durationMs: 10 * MINUTE_MS, replicas: 5 } },
  {
    name: 'short lease',
    share: 1,
    options: {
      controllers,
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
    options: { controllers: [(world) => new Ledger(world, 1000)], durationMs: 5 * MINUTE_MS },
  },
  {
    name: 'cached ledger',
    share: 1,
    options: { controllers: [(world) => new CachedLedger(world, 1000)], durationMs: 5 * MINUTE_MS },
  },
  {
    name: 'cached ledger in a Deployment',
    share: 1,
    options: {
      controllers: [(world) => new CachedLedger(world, 1000)],
      durationMs: 5 * MINUTE_MS,
      rollouts: 'Deployment',
    },
  },
  {
    name: 'no release',
    share: 1,
    options: {
      controllers,
      durationMs: 10 * MINUTE_MS,
      manager: { featureGates: { ReleaseLockOnExit: false } },
    },
  },
  {
    name: 'wedged terms are held',
    share: 1,
    options: { controllers, durationMs: 10 * MINUTE_MS, manager: { onWedged: 'hold' } },
  },
  {
    name: 'process ends with its term',
    share: 1,
    options: {
      controllers,
      durationMs: 10 * MINUTE_MS,
      manager: { featureGates: { GracefulLeaderTransition: false } },
    },
  },
  { name: 'Deployment without faults', share: 1, options: { ...rolledOut, rollouts: 'Deployment', faults: {} } },
  { name: 'Deployment', share: 1, options: { ...rolledOut, rollouts: 'Deployment' } },
  {
    name: 'eager Deployment',
    share: 1,
    options: { ...rolledOut, rollouts: 'Deployment', manager: { rollout: 'eager' } },
  },
  {
    name: 'oldest version leads',
    share: 1,
    options: { controllers, durationMs: 10 * MINUTE_MS, strategy: 'OldestEmulationVersion' },
  },
  {
    name: 'newest version leads, five replicas',
    share: 1,
    options: { controllers, durationMs: 10 * MINUTE_MS, replicas: 5, strategy: 'NewestVersion' },
  },
  {
    name: 'comparisons disagree',
    share: 1,
    options: { controllers, durationMs: 10 * MINUTE_MS, strategy: 'disagreeing' },
  },
  {
    name: 'comparisons of two versions',
    share: 1,
    options: { controllers, durationMs: 10 * MINUTE_MS, strategy: 'newer-version' },
  },
  {
    name: 'comparison contradicts itself',
    share: 1,
    options: { controllers, durationMs: 10 * MINUTE_MS, strategy: 'contradictory' },
  },
  { name: 'StatefulSet', share: 1, options: { ...rolledOut, rollouts: 'StatefulSet' } },
  ...SIMULATED_COORDINATIONS.map((coordination) => ({
    name: `${coordination} election controller`,
    share: 1,
    options: { controllers, durationMs: 10 * MINUTE_MS, coordination },
  })),
  {
    name: 'election controller and a Deployment',
    share: 1,
    options: { ...rolledOut, rollouts: 'Deployment', coordination: 'switched' },
  },
  {
    name: 'durations that somebody shortens',
    share: 1,
    options: { controllers, durationMs: 10 * MINUTE_MS, faults: { 'lease-shortened': 240, partition: 60 } },
  },
  {
    name: 'slow lease',
    share: 2,
    options: {
      controllers: [(world) => new Ledger(world, 15 * MINUTE_MS), (world) => new Chore(world)],
      durationMs: 1200 * MINUTE_MS,
      stormMs: 10 * MINUTE_MS,
      calmMs: 230 * MINUTE_MS,
      lease: SLOW_LEASE,
    },
  },
]

/** The kinds of fleets repeat after this many seeds. */
const SHARES = 34

/** From this seed on, runs are short, so that very many can run. The seeds before cover long runs. */
const FIRST_BRIEF_SEED = 25_000

/** The fleet of a seed. */
export function fleetOf(seed: number): Fleet {
  const fleet = fleetAt(seed % SHARES)
  return seed < FIRST_BRIEF_SEED ? fleet : briefly(fleet)
}

/** One period with faults, and a calm period that is long enough for a new leader. */
function briefly({ name, share, options }: Fleet): Fleet {
  const { leaseDurationMs } = resolveTimingOptions(options.lease)
  const brief = { durationMs: 6 * leaseDurationMs, stormMs: 2 * leaseDurationMs, calmMs: 4 * leaseDurationMs }
  return { name: `${name}, briefly`, share, options: { ...options, ...brief } }
}

function fleetAt(place: number): Fleet {
  let rest = place
  for (const fleet of FLEETS) {
    if (rest < fleet.share) return fleet
    rest -= fleet.share
  }
  throw new Error(`Expected the shares of all fleets to sum up to ${SHARES}`)
}
