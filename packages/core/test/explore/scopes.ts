import type { Strategy } from '../../src/election/rules/strategy.ts'
import { type Scope, TIMING } from './world.ts'

/** A scope, and its share of the visited worlds. */
export interface ExploredScope {
  readonly name: string
  readonly share: number
  readonly scope: Scope
}

const config: Scope['config'] = {
  timing: TIMING,
  cleanupTimeoutMs: 1000,
  releaseOnExit: true,
  missingLease: 'create',
  announceAfterMs: 0,
}

/** Holders keep the lease for life. It may be deleted. */
export const FOR_LIFE: Scope['config'] = {
  ...config,
  heldForLife: true,
  missingLease: 'wait',
  timing: { ...TIMING, wholeSecondPeers: false },
}

/** The rate of a clock that is slower than the others by the full tolerance. */
const SLOW = 0.8

/** The replica with the greater name is better. */
const SECOND_FIRST: Strategy = {
  name: 'example.com/second-first',
  version: 1,
  compare: (a, b) => (a.identity === b.identity ? 0 : a.identity > b.identity ? -1 : 1),
  binaryVersion: undefined,
  emulationVersion: undefined,
}

/** A coordinator has named a leader. */
const NAMED = [
  'r0.1 starts',
  'r1.1 starts',
  'the coordinator names r0.1',
  'acquire of r0.1 takes effect and is answered',
] as const

/** A coordinator has named a leader that is then cut off. One fault and two orders are left. */
export const CUT_OFF = { faults: 2, orders: 3, isCoordinated: true, opening: [...NAMED, 'r0.1 is cut off'] } as const

/** A tick in which the leader renews. */
const RENEWED = ['renew of r0.1 takes effect and is answered', 'time passes'] as const

/** The container of a leader for life has ended, and its lease is deleted while the news of its end are on their way. */
const COLLECTED = [
  'r0.1 starts',
  'acquire of r0.1 takes effect and is answered',
  'r1.1 starts',
  'announce of r1.1 takes effect and is answered',
  'time passes',
  ...RENEWED,
  ...RENEWED,
  ...RENEWED,
  ...RENEWED,
  ...RENEWED,
  'r0.1 crashes',
  'the garbage collector deletes the lease',
] as const

/** A leader abandons its term, and its last renewal is answered after that. */
const ABANDONED = [
  'r0.1 starts',
  'acquire of r0.1 takes effect and is answered',
  'r1.1 starts',
  'announce of r1.1 takes effect and is answered',
  'time passes',
  'r0.1 abandons its term',
  'renew of r0.1 takes effect and is answered',
] as const

/** A leader hands over, and starts again while the new leader is suspended. */
const HANDED_OVER = [
  'r0.1 starts',
  'acquire of r0.1 takes effect and is answered',
  'r0.1 stops',
  'r1.1 starts',
  'announce of r1.1 takes effect and is answered',
  'time passes',
  'renew of r0.1 takes effect and is answered',
  'answer of r1.1 takes effect and is answered',
  'r0.1 has ended all work',
  'transfer of r0.1 takes effect and is answered',
  'r0.1 starts again',
  'r0.2 starts',
  'r1.1 is suspended',
] as const

/** The explored scopes. The shares sum up to 1. */
export const SCOPES: readonly ExploredScope[] = [
  scope('two replicas, the lease may be shortened, 2 faults', 0.05, { faults: 2, orders: 0, canShorten: true }),
  scope('two replicas that know the term, the store may go back, 1 fault, 1 order', 0.025, {
    faults: 1,
    orders: 1,
    canRestore: 'known',
  }),
  scope('a leader has abandoned its term, the store may go back, 1 fault', 0.025, {
    faults: 1,
    orders: 1,
    canRestore: 'known',
    opening: ABANDONED,
  }),
  scope('two replicas, the store may go back, 2 faults', 0.05, { faults: 2, orders: 0, canRestore: 'any' }),
  scope('two replicas, 2 faults, 1 order', 0.05, { faults: 2, orders: 1 }),
  scope('two replicas, an operator requests step-downs, 1 fault, 2 orders', 0.05, {
    faults: 1,
    orders: 2,
    canRequest: true,
  }),
  scope('two replicas of different revisions that hand over at once, 1 fault, 1 order', 0.025, {
    faults: 1,
    orders: 1,
    config: { ...config, isEager: true },
  }),
  scope('an eager leader is suspended beside a replica of another revision, 1 more fault', 0.025, {
    faults: 2,
    orders: 1,
    config: { ...config, isEager: true },
    opening: HANDED_OVER,
  }),
  scope('two replicas, of which the second is better, 1 fault, 1 order', 0.05, {
    faults: 1,
    orders: 1,
    config: { ...config, strategy: SECOND_FIRST },
  }),
  scope('two replicas under a coordinator that names and prefers anybody, 1 fault, 3 orders', 0.05, {
    faults: 1,
    orders: 3,
    isCoordinated: true,
  }),
  scope('three replicas under a coordinator that names and prefers anybody, 1 fault, 2 orders', 0.05, {
    replicas: 3,
    faults: 1,
    orders: 2,
    isCoordinated: true,
  }),
  scope('a follower is named beside a leader that is cut off, deaths are proved, 1 more fault, 1 order', 0.025, {
    ...CUT_OFF,
    canProveDeath: true,
    opening: [...CUT_OFF.opening, 'the coordinator names r1.1', 'acquire of r1.1 takes effect and is answered'],
  }),
  scope('a leader that is cut off is named again and does not come, 1 more fault, 1 order', 0.025, {
    ...CUT_OFF,
    opening: [...CUT_OFF.opening, 'the coordinator names r0.1', 'time passes'],
  }),
  scope('a leader that has released the lease is named again, others may free it, 1 fault, 2 orders', 0.025, {
    faults: 1,
    orders: 5,
    isCoordinated: true,
    opening: [
      ...NAMED,
      'r0.1 steps down',
      'r0.1 has ended all work',
      'release of r0.1 takes effect and is answered',
      'the coordinator names r0.1',
    ],
  }),
  scope('two replicas that lead for life, 2 faults, 1 order', 0.05, { faults: 2, orders: 1, config: FOR_LIFE }),
  scope('three replicas that lead for life, deaths are proved, 1 fault, 1 order', 0.025, {
    replicas: 3,
    faults: 1,
    orders: 1,
    canProveDeath: true,
    config: FOR_LIFE,
  }),
  scope('two replicas, of which one has led for life, and its end is proved, 1 more fault, 1 order', 0.025, {
    faults: 2,
    orders: 1,
    canProveDeath: true,
    config: FOR_LIFE,
    opening: COLLECTED,
  }),
  scope('two replicas that lead for life, one clock slow, they wait before they act, 1 fault, 2 orders', 0.025, {
    faults: 1,
    orders: 2,
    rates: [SLOW],
    canProveDeath: true,
    config: { ...FOR_LIFE, timing: { ...FOR_LIFE.timing, acquireDelayMs: 1000 } },
  }),
  scope('three replicas, 1 fault, 1 order', 0.05, { replicas: 3, faults: 1, orders: 1 }),
  scope('two replicas, one clock slow, lease may be deleted, 2 faults', 0.05, {
    faults: 2,
    orders: 0,
    rates: [SLOW],
    config: { ...config, missingLease: 'wait' },
  }),
  scope('three replicas, one clock slow, lease may be deleted, 1 fault', 0.05, {
    replicas: 3,
    faults: 1,
    orders: 0,
    rates: [SLOW],
    config: { ...config, missingLease: 'wait' },
  }),
  scope('three replicas that are deleted or drained before they stop, 3 orders', 0.05, {
    replicas: 3,
    faults: 0,
    orders: 3,
    canDepart: true,
  }),
  scope('two replicas, deaths are proved, 2 orders', 0.05, { faults: 0, orders: 2, canProveDeath: true }),
  scope('two replicas that do not release, 1 fault, 1 order', 0.05, {
    faults: 1,
    orders: 1,
    canProveDeath: true,
    config: { ...config, releaseOnExit: false },
  }),
  scope('two replicas that wait before they act, 1 fault, 1 order', 0.05, {
    faults: 1,
    orders: 1,
    config: { ...config, timing: { ...TIMING, acquireDelayMs: 1000 } },
  }),
]

function scope(name: string, share: number, extent: Partial<Scope> & Pick<Scope, 'faults' | 'orders'>): ExploredScope {
  return { name, share, scope: { replicas: 2, rates: [], canProveDeath: false, config, ...extent } }
}
