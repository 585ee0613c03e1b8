import type { Logger } from '../ports/logger.ts'
import type { CandidacyEvent } from './events.ts'
import { textOf } from '../text-of.ts'
import { describeTasks } from './wedged-error.ts'

/** Who writes a line: the identity of the replica, and the epoch of its present term. */
export interface LogContext {
  readonly identity: string
  readonly epoch: bigint | undefined
}

/** Writes one line for every event that an operator cares about: to which lease, identity and term, what happened, and why. */
export function logEvent(logger: Logger, event: CandidacyEvent, { identity, epoch }: LogContext): void {
  const base = { lease: event.lease, identity, ...(epoch !== undefined && { epoch }) }
  switch (event.kind) {
    case 'state':
      logger.debug({ ...base, event: 'state', from: event.from.kind, to: event.to.kind }, `now ${event.to.kind}`)
      break
    case 'leader-observed':
      logger.info({ ...base, event: 'leader-observed', leader: event.identity }, leaderMessage(event.identity))
      break
    case 'term-began':
      logger.info({ ...base, event: 'term-began', epoch: event.epoch, handoverMs: event.handoverMs }, 'term began')
      break
    case 'term-ending':
      logger.info(
        { ...base, event: 'term-ending', epoch: event.epoch, reason: event.reason },
        `term ends: ${event.reason}`,
      )
      break
    case 'term-over': {
      const { epoch, reason, outcome, successor, drain, durationMs, drainMs, errors } = event
      const fields = { ...base, event: 'term-over', epoch, reason, outcome, successor, drain, durationMs, drainMs }
      const line = `term over: ${outcome}${successor === undefined ? '' : ` to ${successor}`}, after ${reason}`
      if (errors.length === 0) logger.info(fields, line)
      else logger.warn({ ...fields, err: failuresOf(errors) }, `${line}, with ${errors.length} failures`)
      break
    }
    case 'renewed':
      logger.debug({ ...base, event: 'renewed', elapsedMs: event.elapsedMs }, 'renewed')
      break
    case 'request-failed':
      logger.warn({ ...base, event: 'request-failed', purpose: event.purpose, err: event.error }, textOf(event.error))
      break
    case 'controller-failed': {
      const { controller, error, restartInMs } = event
      const next = restartInMs === undefined ? 'giving up' : `restarting in ${Math.round(restartInMs)} ms`
      logger.error(
        { ...base, event: 'controller-failed', controller, restartInMs, err: error },
        `controller ${controller} failed, ${next}`,
      )
      break
    }
    case 'warm-up': {
      const { controller, outcome, error } = event
      const fields = { ...base, event: 'warm-up', controller, outcome }
      if (outcome === 'failed') logger.warn({ ...fields, err: error }, `warm-up of ${controller} failed`)
      else logger.info(fields, `warm-up of ${controller}: ${outcome}`)
      break
    }
    case 'wedged':
      logger.error(
        { ...base, event: 'wedged', epoch: event.epoch, tasks: event.tasks },
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
