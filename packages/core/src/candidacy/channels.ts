import { type Channel, channel } from 'node:diagnostics_channel'
import type { Controller } from '../controller/controller.ts'
import type { Term } from '../term/term.ts'
import type { CandidacyEvent } from './events.ts'

/*
 * What Tenure publishes on the diagnostics channels of Node, for tracing tools. All channels are here:
 *
 * - `tenure:<kind>` for every event of a candidacy: `tenure:state`, `tenure:term-began`, … The message is the event.
 * - `tenure:run-began` and `tenure:run-over` around every run of a controller. The message is a {@link RunMessage}, the same object
 *   both times, so that it can be the key of a WeakMap.
 *
 * A channel that nobody has subscribed to costs one comparison. A subscriber that throws is an uncaught exception, as Node has it.
 */

/** What `tenure:run-began` and `tenure:run-over` carry. */
export interface RunMessage {
  readonly term: Term
  readonly controller: Controller
}

const EVENTS: Readonly<Record<CandidacyEvent['kind'], Channel>> = {
  state: channel('tenure:state'),
  'leader-observed': channel('tenure:leader-observed'),
  'term-began': channel('tenure:term-began'),
  'term-ending': channel('tenure:term-ending'),
  'term-over': channel('tenure:term-over'),
  renewed: channel('tenure:renewed'),
  'request-failed': channel('tenure:request-failed'),
  'controller-failed': channel('tenure:controller-failed'),
  'warm-up': channel('tenure:warm-up'),
  wedged: channel('tenure:wedged'),
}
const RUN_BEGAN = channel('tenure:run-began')
const RUN_OVER = channel('tenure:run-over')

/** Publishes an event of a candidacy. */
export function publishEvent(event: CandidacyEvent): void {
  const events = EVENTS[event.kind]
  if (events.hasSubscribers) events.publish(event)
}

/** Publishes that a run has begun; the returned function publishes that it is over, to whoever has subscribed by then. */
export function publishRun(term: Term, controller: Controller): () => void {
  const message: RunMessage = { term, controller }
  if (RUN_BEGAN.hasSubscribers) RUN_BEGAN.publish(message)
  return () => {
    if (RUN_OVER.hasSubscribers) RUN_OVER.publish(message)
  }
}
