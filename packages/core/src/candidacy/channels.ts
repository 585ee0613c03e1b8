import { type Channel, channel } from 'node:diagnostics_channel'
import type { CandidacyEvent } from './events.ts'

/*
 * Tenure publishes every event of a candidacy on the diagnostics channels of Node, for tracing tools: `tenure:state`,
 * `tenure:term-began`, … The message is the event. `controller/run-channels.ts` publishes the runs of controllers.
 *
 * A channel without subscribers does nothing. If a subscriber throws, Node reports an uncaught exception.
 */

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

/** Publishes an event of a candidacy. */
export function publishEvent(event: CandidacyEvent): void {
  EVENTS[event.kind].publish(event)
}
