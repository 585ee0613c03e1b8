import { Controller, type Term } from '@tenure/core'
import { PresentTerm } from '../../core/src/candidacy/present-term.ts'
import { TermControllers } from '../../core/src/candidacy/term-controllers.ts'
import { Elector } from '../../core/src/election/elector.ts'
import { Store } from '@tenure/api-server/internal'
import { SimulatedReplica } from '../src/cluster/simulated-replica.ts'
import { SimulatedProcess } from '../src/cluster/simulated-process.ts'
import type { SimulateSeedsOptions } from '../src/index.ts'
import type { OracleId } from '../src/violation.ts'
import { CacheBarrier } from '@tenure/core/internal'
import { CachedLedger, DetachedLoop, FencedLedger, UnfencedLedger, WriteAfterSignal } from './ledger-controllers.ts'
import { DESIRED, Recreating, StaleDispatcher } from './reconcilers.ts'

/** A defect that an oracle has to find. */
export interface PlantedDefect {
  readonly what: string
  readonly options: Partial<SimulateSeedsOptions> & Pick<SimulateSeedsOptions, 'controllers'>
  /** Puts the defect into the code; returns what takes it out again. */
  readonly plant?: () => () => void
}

/** Takes a while to end. */
class SlowToEnd extends Controller {
  readonly name = 'slow'

  async run(term: Term): Promise<void> {
    await term.spawn('work', () => untilAborted(term.hardSignal), { finishOnDrain: true })
  }
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** Puts another method in its place; returns what puts it back. */
export function replaceMethod<T extends object, K extends keyof T>(target: T, key: K, make: (original: T[K]) => T[K]) {
  const original = target[key]
  target[key] = make(original)
  return () => {
    target[key] = original
  }
}

/** For every oracle a defect. The compiler sees to it that none is left out. */
export const PLANTED_DEFECTS: Readonly<Record<OracleId, PlantedDefect>> = {
  O1: {
    what: 'a server that does not compare versions',
    options: { controllers: [(world) => new FencedLedger(world)] },
    plant: () =>
      replaceMethod(
        Store.prototype,
        'update',
        (update) =>
          function anyVersion(this: Store, ref, object) {
            return update.call(this, ref, object)
          },
      ),
  },
  O2: {
    what: 'a controller that writes when its signal aborts and does not wait',
    options: { controllers: [(world) => new WriteAfterSignal(world)] },
  },
  O3: {
    what: 'a candidacy that does not wait for the tasks of a term',
    options: { controllers: [() => new SlowToEnd()] },
    plant: () => replaceMethod(TermControllers.prototype, 'done', () => () => Promise.resolve()),
  },
  O4: {
    what: 'a controller that reads, changes and writes without a fence',
    options: { controllers: [(world) => new UnfencedLedger(world)] },
  },
  O5: {
    what: 'an elector that does not stand',
    options: { controllers: [(world) => new FencedLedger(world)] },
    plant: () => replaceMethod(Elector.prototype, 'start', () => () => {}),
  },
  O6: {
    what: 'a candidacy that gives every term the same epoch',
    options: { controllers: [() => new SlowToEnd()], faults: { 'step-down': 60 } },
    plant: () =>
      replaceMethod(
        PresentTerm.prototype,
        'begin',
        (begin) =>
          function withFirstEpoch(this: PresentTerm, effect) {
            begin.call(this, { ...effect, epoch: 1n })
          },
      ),
  },
  O7: {
    what: 'a controller with a loop that nobody tracks',
    options: { controllers: [(world) => new DetachedLoop(world)] },
  },
  O8: {
    what: 'a rollout that does not wait until a replica is ready',
    options: { controllers: [(world) => new FencedLedger(world)], faults: {}, rollouts: 'Deployment' },
    plant: () => replaceMethod(SimulatedReplica.prototype, 'isReady', () => () => Promise.resolve(true)),
  },
  O10: {
    what: 'a cache that does not wait for what the term before has written',
    options: { controllers: [(world) => new CachedLedger(world)] },
    plant: () => replaceMethod(CacheBarrier.prototype, 'wait', () => () => Promise.resolve()),
  },
  O11: {
    what: 'a fleet that does not release its lease, so that no leader makes way',
    options: {
      controllers: [(world) => new FencedLedger(world)],
      faults: {},
      strategy: 'NewestVersion',
      manager: { featureGates: { ReleaseLockOnExit: false } },
    },
  },
  O12: {
    what: 'a replica that believes that it acquired the lease when its write is refused',
    options: { controllers: [(world) => new FencedLedger(world)], coordination: 'honest' },
    plant: () => replaceMethod(SimulatedProcess.prototype, 'entitle', () => function nobody() {}),
  },
  O13: {
    what: 'a leader that makes way and leaves the lease to expire',
    options: {
      controllers: [(world) => new FencedLedger(world)],
      faults: {},
      coordination: 'honest',
      manager: { featureGates: { ReleaseLockOnExit: false } },
    },
  },
  O14: {
    what: 'a controller that deletes everything at the start of each term',
    options: { controllers: [(world) => new Recreating(world)], desired: DESIRED, rollouts: 'Deployment' },
  },
  O15: {
    what: 'a controller that reads from a cache that is not synced',
    options: { controllers: [(world) => new StaleDispatcher(world)] },
  },
  O9: {
    what: 'a fleet that does not release its lease',
    options: {
      controllers: [(world) => new FencedLedger(world)],
      faults: {},
      rollouts: 'Deployment',
      manager: { featureGates: { ReleaseLockOnExit: false } },
    },
  },
}
