import { JITTER_FACTOR } from '../../jitter.ts'
import type { LeaseRecord } from '../../lock/lease-record.ts'
import { decidesItself, type ElectorConfig } from '../machine/config.ts'
import type { LeaseWrite } from '../machine/effect.ts'
import type { Instant, StepDown } from '../machine/event.ts'
import type { Hold, Leading } from '../machine/state.ts'
import { renewRecord } from '../rules/records.ts'
import { isStandbyOf, withoutStandby } from '../rules/standby.ts'
import { readRequest, requestedStepDown, withRequestAnswered } from '../rules/step-down-request.ts'
import { readAnswer, readOffer, withAnswer, withOffer } from '../rules/transfer-notes.ts'
import { chosenSuccessor } from './choosing.ts'
import { acceptedAnswer } from './offering.ts'

/*
 * Proposing: a leader that has chosen a standby to lead instead of it, or is requested to hand over to a replica by name, offers that
 * replica the lease. A request comes before a choice.
 *
 * 1. The term goes on until the replica answers, so a replica that has crashed or never existed ends no term. Then the term drains, and
 *    the lease is transferred to that replica.
 * 2. A standby that does not answer in time is taken off the list, and the offer is withdrawn or goes to the next choice. The leader asks
 *    that standby again only after it has put itself on the list again, which it does if it lives.
 * 3. A request is declined if its replica does not answer in time.
 */

/** How long a chosen standby has to answer. The leader leads meanwhile, so this only delays others that are as good. */
const ANSWER_TIMEOUT_MS = 1000

/** Proposes the lease to the chosen standby, or ends a proposal that was not answered or is no longer the choice. */
export function withProposal(leading: Leading, at: Instant, config: ElectorConfig): Leading {
  if (!config.releaseOnExit) return leading
  // A coordinator began to decide under way.
  if (!decidesItself(config)) return { ...leading, proposal: undefined }
  const state = withoutDeclined(leading)
  return state.proposal === undefined ? proposed(state, at, config) : continued(state, at, config)
}

function continued(state: Leading, at: Instant, config: ElectorConfig): Leading {
  const { proposal } = state
  if (proposal === undefined) return state
  const { to } = proposal
  const requested = requestedSuccessor(state)
  const isOutdated = requested !== undefined && requested !== to
  if (!isOutdated && answeredProposal(state, config) !== undefined) return state
  const next = withOfferSent(state, at, config)
  const until = answerBy(next)
  if (until !== undefined && at.now >= until) return proposed(missed(next, to, at), at, config)
  return wantedSuccessor(state, at, config) === to ? next : proposed(withdrawn(next, at), at, config)
}

/** Until when the replica may answer; undefined while a request is in flight, so that the next one, without the offer, is sent at once. */
export function answerBy({ proposal, hold }: Leading): number | undefined {
  return hold.request.kind === 'waiting' ? proposal?.until : undefined
}

/** The replica to offer the lease to: the one that a request names, or else the choice of this leader. */
function wantedSuccessor(state: Leading, at: Instant, config: ElectorConfig): string | undefined {
  return requestedSuccessor(state) ?? chosenSuccessor(state, at, config)?.identity
}

/** The replica that a request names, unless the request is declined. */
function requestedSuccessor({ hold, declined }: Leading): string | undefined {
  const request = readRequest(hold.lease.record)
  return request?.id === declined ? undefined : request?.to
}

/** How this term ends if the proposed successor has answered; undefined otherwise. */
export function answeredProposal({ proposal, hold }: Leading, config: ElectorConfig): StepDown | undefined {
  if (proposal === undefined) return undefined
  const { record } = hold.lease
  const { to } = proposal
  if (readOffer(record)?.to !== to) return undefined
  if (acceptedAnswer(record, { to, except: undefined }, config) === undefined) return undefined
  const requested = requestedStepDown(record, config)
  if (requested?.to === to) return requested
  // If the lease is released after all, others try first. A strategy decides by itself who does.
  const cooldownMs = config.strategy === undefined ? 2 * JITTER_FACTOR * config.timing.retryPeriodMs : 0
  return { reason: 'step-down', to, cooldownMs, answerTimeoutMs: ANSWER_TIMEOUT_MS }
}

/** The renewal of a leader with its proposal, without a standby that did not answer, and with the answer to a request that it declines. */
export function renewalWithProposal(
  { proposal, memory, declined }: Leading,
  at: Instant,
  config: ElectorConfig,
): (hold: Hold) => LeaseWrite {
  return ({ lease }) => {
    const noted = (renewal: LeaseRecord): LeaseRecord => {
      const listed = isListed(renewal, memory.missed) ? withoutStandby(renewal, memory.missed) : renewal
      const isDeclined = declined !== undefined && readRequest(lease.record)?.id === declined
      const record = isDeclined ? withRequestAnswered(listed, lease.record, 'declined') : listed
      if (proposal === undefined) return record
      const { to } = proposal
      const answer = readAnswer(lease.record)
      return withAnswer(withOffer(record, { to }), answer?.identity === to ? answer : undefined)
    }
    const { wallTime } = at
    return { purpose: 'renew', base: lease, record: renewRecord(lease.record, config, { wallTime, noted }) }
  }
}

function proposed(leading: Leading, at: Instant, config: ElectorConfig): Leading {
  const state = withoutReturned(leading)
  const to = wantedSuccessor(state, at, config)
  if (to === undefined) return state
  return withOfferSent({ ...state, proposal: { to, until: undefined } }, at, config)
}

/** Sends the offer as soon as no other request is in flight. The time to answer counts from then. */
function withOfferSent(state: Leading, at: Instant, config: ElectorConfig): Leading {
  const { proposal, hold } = state
  if (proposal === undefined || proposal.until !== undefined) return state
  const { request } = hold
  if (request.kind === 'waiting') return soon(state, at)
  const isSent = request.kind === 'writing' && readOffer(request.write.record)?.to === proposal.to
  if (!isSent) return state
  const requested = requestedSuccessor(state) === proposal.to ? requestedStepDown(hold.lease.record, config) : undefined
  const timeoutMs = requested?.answerTimeoutMs ?? ANSWER_TIMEOUT_MS
  return { ...state, proposal: { ...proposal, until: at.now + timeoutMs } }
}

/** Only a replica that could see the offer has missed it. */
function missed(state: Leading, to: string, at: Instant): Leading {
  const { record } = state.hold.lease
  if (readOffer(record)?.to !== to) return withdrawn(state, at)
  if (requestedSuccessor(state) === to) return withdrawn({ ...state, declined: readRequest(record)?.id }, at)
  return withdrawn({ ...state, memory: { ...state.memory, missed: to } }, at)
}

/** Forgets a request that was declined once the lease no longer has it. */
function withoutDeclined(leading: Leading): Leading {
  const { declined, ...state } = leading
  return readRequest(leading.hold.lease.record)?.id === declined ? leading : state
}

function withdrawn(leading: Leading, at: Instant): Leading {
  const { proposal: _, ...state } = leading
  return soon(state, at)
}

/** Renews at once, if no request is in flight. */
function soon(state: Leading, at: Instant): Leading {
  const { hold } = state
  if (hold.request.kind !== 'waiting') return state
  return { ...state, hold: { ...hold, request: { kind: 'waiting', at: Math.min(hold.request.at, at.now) } } }
}

/** Forgets a standby that did not answer once the list no longer names it: if it is named again, it lives. */
function withoutReturned(state: Leading): Leading {
  const { missed: to, ...memory } = state.memory
  return isListed(state.hold.lease.record, to) ? state : { ...state, memory }
}

function isListed(record: Hold['lease']['record'], identity: string | undefined): identity is string {
  return identity !== undefined && isStandbyOf(record, identity)
}
