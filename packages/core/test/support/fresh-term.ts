import { getEventListeners } from 'node:events'
import { onTestFinished } from 'vitest'
import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import { LeadershipEndedError } from '../../src/election/leadership-ended-error.ts'
import type { Clock } from '../../src/ports/clock.ts'
import { ControllerTerm } from '../../src/term/controller-term.ts'

/** Why the terms of these tests end. */
export const ENDED = new LeadershipEndedError('step-down', 7n)

/** A run of a controller that nobody supervises, on virtual time. */
export function freshTerm(options: { readonly clock?: Clock } = {}) {
  const virtual = new VirtualClock()
  const failures: unknown[] = []
  const term = new ControllerTerm({
    controller: 'janitor',
    lease: 'lease',
    leadership: undefined,
    clock: options.clock ?? virtual,
    onTaskFailure: (error) => failures.push(error),
    onIdle: () => {},
    onStepDown: () => {},
  })
  onTestFinished(async () => {
    term.hardAbort(ENDED)
    await term.scope.join()
  })
  /** How many listeners the signals of the term have, how many timers are pending, and how many tasks live. */
  const left = () => ({
    listeners: getEventListeners(term.signal, 'abort').length + getEventListeners(term.hardSignal, 'abort').length,
    timers: virtual.pendingTimers,
    tasks: term.taskCount,
  })
  return { clock: virtual, term, failures, left }
}

/** What {@link freshTerm} has when nothing is left in it. */
export const NOTHING = { listeners: 0, timers: 0, tasks: 0 }
