import type { Logger } from '../ports/logger.ts'
import type { CandidacyEvent } from './events.ts'
import { describeTasks } from './wedged-error.ts'

/** Writes one line for every event that an operator cares about. */
export function logEvent(logger: Logger, event: CandidacyEvent): void {
  const { lease } = event
  switch (event.kind) {
    case 'state':
      logger.debug({ lease, event: 'state', from: event.from.kind, to: event.to.kind }, `now ${event.to.kind}`)
      break
    case 'leader-observed':
      logger.info({ lease, event: 'leader-observed', leader: event.identity }, leaderMessage(event.identity))
      break
    case 'term-began':
      logger.info({ lease, event: 'term-began', epoch: event.epoch, handoverMs: event.handoverMs }, 'term began')
      break
    case 'term-ending':
      logger.info(
        { lease, event: 'term-ending', epoch: event.epoch, reason: event.reason },
        `term ends: ${event.reason}`,
      )
      break
    case 'term-over': {
      const { epoch, reason, outcome, drain, durationMs, drainMs, errors } = event
      const fields = { lease, event: 'term-over', epoch, reason, outcome, drain, durationMs, drainMs }
      if (errors.length === 0) logger.info(fields, `term over: ${outcome}`)
      else logger.warn({ ...fields, err: failuresOf(errors) }, `term over: ${outcome}, with ${errors.length} failures`)
      break
    }
    case 'renewed':
      logger.debug({ lease, event: 'renewed', elapsedMs: event.elapsedMs }, 'renewed')
      break
    case 'request-failed':
      logger.warn({ lease, event: 'request-failed', purpose: event.purpose, err: event.error }, event.error.message)
      break
    case 'controller-failed': {
      const { controller, error, restartInMs } = event
      const next = restartInMs === undefined ? 'giving up' : `restarting in ${Math.round(restartInMs)} ms`
      logger.error(
        { lease, event: 'controller-failed', controller, restartInMs, err: error },
        `controller ${controller} failed, ${next}`,
      )
      break
    }
    case 'warm-up': {
      const { controller, outcome, error } = event
      const fields = { lease, event: 'warm-up', controller, outcome }
      if (outcome === 'failed') logger.warn({ ...fields, err: error }, `warm-up of ${controller} failed`)
      else logger.info(fields, `warm-up of ${controller}: ${outcome}`)
      break
    }
    case 'wedged':
      logger.error(
        { lease, event: 'wedged', epoch: event.epoch, tasks: event.tasks },
        `drain did not end in time, still running: ${describeTasks(event.tasks)}`,
      )
      break
    default:
      event satisfies never
  }
}

function leaderMessage(identity: string): string {
  return identity === '' ? 'nobody leads' : `${identity} leads`
}

/** All of what failed while a term ended, as one error. */
function failuresOf(errors: readonly unknown[]): AggregateError {
  return new AggregateError(errors, `${errors.length} failures while the term ended`)
}
