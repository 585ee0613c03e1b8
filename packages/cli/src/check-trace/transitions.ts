import type { TraceLine } from '@tenure/core/internal'
import type { Step } from './step.ts'

/*
 * Between which states an elector goes, by the event that it handles. An event that is not listed does not change the state.
 */

type State = TraceLine['s']
type Event = TraceLine['e']
type Transitions = Readonly<Record<State, ReadonlyMap<Event, ReadonlySet<string>>>>

/** What shows the lease, or that time has passed. */
const NEWS = ['observed', 'read-answer', 'write-answer', 'wake'] as const satisfies readonly Event[]

/** The states in which a term is over, or was never begun. */
const OUT = ['following', 'acquiring', 'stopped'] as const satisfies readonly State[]

function after(...rules: readonly (readonly [events: readonly Event[], states: readonly State[]])[]) {
  return new Map(rules.flatMap(([events, states]) => events.map((event) => [event, new Set<string>(states)] as const)))
}

const TRANSITIONS: Transitions = {
  idle: after([['start'], ['following']], [['stop'], ['stopped']]),
  following: after(
    [
      [...NEWS, 'watch-up', 'watch-down', 'holder-dead'],
      [...OUT, 'reserving', 'leading', 'releasing'],
    ],
    [['stop'], ['following', 'stopped']],
  ),
  acquiring: after([
    ['observed', 'write-answer'],
    [...OUT, 'reserving', 'leading', 'releasing'],
  ]),
  reserving: after(
    [
      [...NEWS, 'holder-dead'],
      [...OUT, 'reserving', 'leading', 'releasing'],
    ],
    [['lost'], ['following', 'acquiring']],
    [['stop'], ['releasing', 'following', 'stopped']],
  ),
  leading: after(
    [NEWS, ['leading', 'draining', 'aborting']],
    [['stop', 'step-down'], ['draining']],
    [['lost'], ['aborting']],
  ),
  draining: after(
    [
      [...NEWS, 'drained'],
      ['draining', 'releasing', 'aborting', ...OUT],
    ],
    [['cleanup-overdue'], ['draining', ...OUT]],
    [['stop'], ['draining', 'releasing', 'stopped']],
    [['lost'], ['aborting', ...OUT]],
  ),
  aborting: after(
    [
      ['observed', 'cleanup-overdue', 'wake'],
      ['aborting', ...OUT],
    ],
    [['drained'], OUT],
  ),
  releasing: after([NEWS, ['releasing', ...OUT]]),
  stopped: after(),
}

/** Judges the state after an event by the state before. */
export function changesState(step: Step): void {
  const { before, line, replica } = step
  const allowed = TRANSITIONS[before].get(line.e)
  if (allowed === undefined ? line.s === before : allowed.has(line.s)) return
  step.broken('state', `${replica.identity} is ${line.s} after \`${line.e}\` while ${before}`)
}
