import { JITTER_FACTOR } from '../../jitter.ts'
import { ANNOTATION_PREFIX, type LeaseRecord } from '../../lock/lease-record.ts'
import type { ElectorConfig } from '../machine/config.ts'
import type { StepDown } from '../machine/event.ts'
import { isName, readNote, withNote } from './transfer-notes.ts'

/*
 * A request of an operator that the leader ends its term, in an annotation of the lease, and what came of it, in another one.
 *
 * 1. A request names one term, by its holder and acquire time. It is void in every other term.
 * 2. It is an order to step down like any other: the term drains, then the lease is released or transferred.
 * 3. A request that names a replica is declined if that replica does not answer the offer of the leader (`proposing.ts`). The term goes on.
 * 4. The leader answers in a renewal: that it declines, or, while it drains, that it drains. The release or transfer has the last answer. It
 *    stays through the next term, so that it can be read after a fast successor has acquired the lease.
 * 5. Any client that may write the lease can write a request. Such a client can also clear the holder, which costs more.
 */
const REQUEST = `${ANNOTATION_PREFIX}step-down-request`
const ANSWER = `${ANNOTATION_PREFIX}step-down-answer`

/** A request that the present holder ends its term. */
export interface StepDownRequest {
  /** Unique to this request, without spaces. The answer repeats it. */
  readonly id: string
  /** The replica that must get the lease; undefined for any. */
  readonly to?: string | undefined
}

/** How far a requested end of a term is. `declined`: the term goes on. */
export type RequestOutcome = 'declined' | 'draining' | 'released' | 'transferred'

/** What came of a request. */
export interface StepDownAnswer {
  /** That of the request. */
  readonly id: string
  /** What the leader does, or did. */
  readonly outcome: RequestOutcome
}

/** The request to end the present term. */
export function readRequest(record: LeaseRecord): StepDownRequest | undefined {
  const { id, to } = readNote(record, REQUEST) ?? {}
  if (!isName(id) || /\s/.test(id)) return undefined
  if ((to !== undefined && !isName(to)) || to === record.holderIdentity) return undefined
  return { id, to }
}

/** The record with a request to end its term. */
export function withRequest(record: LeaseRecord, request: StepDownRequest): LeaseRecord {
  return withNote(record, REQUEST, { ...request })
}

/** What came of the last request that a leader answered. */
export function readRequestAnswer({ annotations }: LeaseRecord): StepDownAnswer | undefined {
  const [id, outcome, ...more] = (annotations[ANSWER] ?? '').split(' ')
  if (!isName(id) || more.length > 0) return undefined
  return OUTCOMES.has(outcome as RequestOutcome) ? { id, outcome: outcome as RequestOutcome } : undefined
}

const OUTCOMES: ReadonlySet<RequestOutcome> = new Set(['declined', 'draining', 'released', 'transferred'])

/** The record with the answer to the request in `held`. The answer to another request is gone. */
export function withRequestAnswered(record: LeaseRecord, held: LeaseRecord, outcome: RequestOutcome): LeaseRecord {
  const { [REQUEST]: asked, [ANSWER]: answered, ...rest } = record.annotations
  const request = readRequest(held)
  const answer = request === undefined ? undefined : `${request.id} ${outcome}`
  const kept = outcome === 'draining' && request !== undefined ? asked : undefined
  // A lock whose holders keep the lease for life tells a check from a write by the record itself.
  if (answer === answered && kept === asked) return record
  const notes = { ...(kept !== undefined && { [REQUEST]: kept }), ...(answer !== undefined && { [ANSWER]: answer }) }
  return { ...record, annotations: { ...rest, ...notes } }
}

/** The record of a new term with the answer that the last one left. */
export function withRequestAnswerOf(record: LeaseRecord, { annotations }: LeaseRecord): LeaseRecord {
  const { [ANSWER]: answer } = annotations
  return answer === undefined ? record : { ...record, annotations: { ...record.annotations, [ANSWER]: answer } }
}

/** How this term ends if that was requested; undefined otherwise. The times are the defaults of `stepDown()`. */
export function requestedStepDown(record: LeaseRecord, { timing }: ElectorConfig): StepDown | undefined {
  const request = readRequest(record)
  if (request === undefined) return undefined
  const slowestPollMs = JITTER_FACTOR * timing.retryPeriodMs
  const { to } = request
  return {
    reason: to === undefined ? 'step-down' : 'transferred',
    cooldownMs: 2 * slowestPollMs,
    answerTimeoutMs: slowestPollMs,
    ...(to !== undefined && { to }),
  }
}
