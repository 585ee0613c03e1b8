import type { ElectorEvent } from '../../src/election/machine/event.ts'
import type { ElectorState } from '../../src/election/machine/state.ts'
import type { Cell } from './explore.ts'

type StateKind = ElectorState['kind']
type EventKind = ElectorEvent['kind']

const STATES = Object.keys({
  idle: 0,
  following: 0,
  acquiring: 0,
  reserving: 0,
  leading: 0,
  draining: 0,
  aborting: 0,
  releasing: 0,
  stopped: 0,
} satisfies Record<StateKind, 0>) as StateKind[]

const EVENTS = Object.keys({
  start: 0,
  stop: 0,
  'step-down': 0,
  lost: 0,
  observed: 0,
  'watch-up': 0,
  'watch-down': 0,
  'write-answer': 0,
  'read-answer': 0,
  cleaning: 0,
  'cleanup-overdue': 0,
  drained: 0,
  'holder-dead': 0,
  wake: 0,
} satisfies Record<EventKind, 0>) as EventKind[]

interface Unreachable {
  readonly reason: string
  readonly states: readonly StateKind[]
  readonly events: readonly EventKind[]
}

const except = <K>(all: readonly K[], ...some: readonly K[]): readonly K[] => all.filter((one) => !some.includes(one))

/** The unreachable cells, by reason. The exploration fails if it reaches one of them. */
const UNREACHABLE: readonly Unreachable[] = [
  {
    reason: 'a candidacy starts its elector before any other event',
    states: ['idle'],
    events: except(EVENTS, 'start'),
  },
  { reason: 'an elector is started once', states: except(STATES, 'idle'), events: ['start'] },
  {
    reason: 'a term is ended only while there is one',
    states: ['following', 'acquiring', 'reserving', 'stopped'],
    events: ['step-down', 'lost', 'cleaning', 'cleanup-overdue', 'drained'],
  },
  {
    reason: 'a drain begins only when the term begins to end',
    states: ['leading'],
    events: ['cleaning', 'cleanup-overdue', 'drained'],
  },
  {
    reason: 'the term is empty already',
    states: ['releasing'],
    events: ['cleaning', 'cleanup-overdue', 'drained', 'lost'],
  },
  { reason: 'the state requests no wake-up', states: ['stopped'], events: ['wake'] },
  {
    reason: 'an elector that has stopped has closed its watch and gets no more events',
    states: ['stopped'],
    events: ['stop', 'observed', 'watch-up', 'watch-down'],
  },
  {
    reason:
      'the process of a holder is watched only while following, and after the deletion of a lease for life whose record the lock tells',
    states: except(STATES, 'following', 'acquiring', 'reserving', 'idle'),
    events: ['holder-dead'],
  },
]

/** The coverage of the transition table. */
export interface Coverage {
  readonly covered: number
  readonly reachable: number
  /** Reachable cells that were not reached. */
  readonly missing: readonly Cell[]
  /** Cells that were reached although they are listed as unreachable. */
  readonly unexpected: readonly Cell[]
  readonly unreachable: readonly (readonly [reason: string, cells: readonly Cell[]])[]
}

/** Compares the reached cells with the reachable cells. */
export function coverageOf(reached: Iterable<Cell>): Coverage {
  const seen = new Set(reached)
  const unreachable = UNREACHABLE.map(({ reason, states, events }) => [reason, cellsOf(states, events)] as const)
  const outOfReach = new Set(unreachable.flatMap(([, cells]) => cells))
  const reachable = cellsOf(STATES, EVENTS).filter((cell) => !outOfReach.has(cell))
  const missing = reachable.filter((cell) => !seen.has(cell))
  return {
    covered: reachable.length - missing.length,
    reachable: reachable.length,
    missing,
    unexpected: [...seen].filter((cell) => outOfReach.has(cell)),
    unreachable,
  }
}

function cellsOf(states: readonly StateKind[], events: readonly EventKind[]): readonly Cell[] {
  return states.flatMap((state) => events.map((event): Cell => `${state} × ${event}`))
}
