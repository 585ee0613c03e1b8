import type { Clock } from '../ports/clock.ts'
import type { Logger } from '../ports/logger.ts'
import { remedyFor } from '../controller/remedy.ts'
import { textOf } from '../text-of.ts'
import type { CandidacyEvent } from './events.ts'
import { RequestFailures } from './request-failures.ts'
import { describeTasks } from '../term/describe-tasks.ts'

/**
 * Writes one log line for every event that matters to an operator, with the lease, the term and the reason. The logger adds the identity
 * of the replica. During an outage it logs only selected failures, see {@link RequestFailures}.
 */
export class EventLog {
  readonly #logger: Logger
  readonly #clock: Clock
  readonly #failures = new RequestFailures()

  constructor({ logger, clock }: { readonly logger: Logger; readonly clock: Clock }) {
    this.#logger = logger
    this.#clock = clock
  }

  /** @param epoch the epoch of the present term; undefined outside of terms */
  write(event: CandidacyEvent, epoch: bigint | undefined): void {
    const base = { lease: event.lease, ...(epoch !== undefined && { epoch }) }
    if (event.kind === 'request-failed') this.#requestFailed(event, base)
    else writeEvent(this.#logger, event, base)
  }

  /** Notes that a request to the lease succeeded. */
  requestSucceeded(lease: string): void {
    const outage = this.#failures.succeeded(this.#clock.now())
    // A single failure, such as a lost race, is not an outage.
    if (outage === undefined || outage.failures === 1) return
    const { failures, lastedMs } = outage
    this.#logger.info(
      { lease, event: 'requests-succeed', failures, lastedMs },
      `lease requests succeed again, after ${failures} failures in ${seconds(lastedMs)}`,
    )
  }

  #requestFailed({ purpose, error }: EventOf<'request-failed'>, base: Base): void {
    const outage = this.#failures.failed(error, this.#clock.now())
    const fields = { ...base, event: 'request-failed', purpose, err: error }
    if (outage === undefined) return this.#logger.debug(fields, textOf(error))
    const { failures, lastedMs } = outage
    const soFar = failures === 1 ? '' : ` (${failures} failed requests in ${seconds(lastedMs)})`
    this.#logger.warn({ ...fields, failures }, `${textOf(error)}${soFar}`)
  }
}

type EventOf<K> = Extract<CandidacyEvent, { readonly kind: K }>

interface Base {
  readonly lease: string
  readonly epoch?: bigint
}

type LoggedEvent = Exclude<CandidacyEvent, EventOf<'request-failed'>>
type Writer<E> = (logger: Logger, event: E, base: Base) => void

const WRITERS: { readonly [K in LoggedEvent['kind']]: Writer<EventOf<K>> } = {
  state: (logger, { from, to }, base) =>
    logger.debug({ ...base, event: 'state', from: from.kind, to: to.kind }, `now ${to.kind}`),
  'leader-observed': (logger, { identity }, base) =>
    logger.info({ ...base, event: 'leader-observed', leader: identity }, leaderMessage(identity)),
  'term-began': (logger, { epoch, handoverMs }, base) =>
    logger.info({ ...base, event: 'term-began', epoch, handoverMs }, 'term began'),
  'term-ending': (logger, { epoch, reason }, base) =>
    logger.info({ ...base, event: 'term-ending', epoch, reason }, `term ends: ${reason}`),
  'term-over': writeTermOver,
  renewed: (logger, { elapsedMs }, base) => logger.debug({ ...base, event: 'renewed', elapsedMs }, 'renewed'),
  'controller-failed': writeControllerFailed,
  'warm-up': writeWarmUp,
  wedged: (logger, { epoch, tasks }, base) =>
    logger.error(
      { ...base, event: 'wedged', epoch, tasks },
      `drain did not end in time, still running: ${describeTasks(tasks)}`,
    ),
}

function writeEvent(logger: Logger, event: LoggedEvent, base: Base): void {
  const write = WRITERS[event.kind] as Writer<LoggedEvent>
  write(logger, event, base)
}

function writeTermOver(logger: Logger, event: EventOf<'term-over'>, base: Base): void {
  const { epoch, reason, outcome, successor, drain, durationMs, drainMs, errors } = event
  const fields = { ...base, event: 'term-over', epoch, reason, outcome, successor, drain, durationMs, drainMs }
  const line = `term over: ${outcome}${successor === undefined ? '' : ` to ${successor}`}, after ${reason}`
  if (errors.length === 0) return logger.info(fields, line)
  logger.warn({ ...fields, err: failuresOf(errors) }, `${line}, with ${errors.length} failures: ${textsOf(errors)}`)
}

function writeControllerFailed(logger: Logger, event: EventOf<'controller-failed'>, base: Base): void {
  const { controller, error, restartInMs } = event
  const next = restartInMs === undefined ? 'giving up' : `restarting in ${Math.round(restartInMs)} ms`
  logger.error(
    { ...base, event: 'controller-failed', controller, restartInMs, err: error },
    `controller ${controller} failed, ${next}: ${textOf(error)}${remedyFor(error)}`,
  )
}

function writeWarmUp(logger: Logger, { controller, outcome, error }: EventOf<'warm-up'>, base: Base): void {
  const fields = { ...base, event: 'warm-up', controller, outcome }
  if (outcome !== 'failed') return logger.info(fields, `warm-up of ${controller}: ${outcome}`)
  logger.warn({ ...fields, err: error }, `warm-up of ${controller} failed: ${textOf(error)}${remedyFor(error)}`)
}

function leaderMessage(identity: string): string {
  return identity === '' ? 'nobody leads' : `${identity} leads`
}

/** The first causes as text; the field `err` has all of them. */
function textsOf(errors: readonly unknown[]): string {
  const shown = errors.slice(0, 3).map(textOf)
  return errors.length > shown.length ? `${shown.join('; ')}; …` : shown.join('; ')
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}

/** All failures during the end of a term, as one error. */
function failuresOf(errors: readonly unknown[]): AggregateError {
  return new AggregateError(errors, `${errors.length} failures while the term ended`)
}
