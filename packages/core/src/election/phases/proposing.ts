import { JITTER_FACTOR } from '../../jitter.ts'
import { decidesItself, type ElectorConfig } from '../machine/config.ts'
import type { LeaseWrite } from '../machine/effect.ts'
import type { Instant, StepDown } from '../machine/event.ts'
import type { Hold, Leading } from '../machine/state.ts'
import { renewRecord } from '../rules/records.ts'
import { isStandbyOf, withoutStandby } from '../rules/standby.ts'
import { readAnswer, readOffer, withAnswer, withOffer } from '../rules/transfer-notes.ts'
import { chosenSuccessor } from './choosing.ts'
import { acceptedAnswer } from './offering.ts'

/*
 * Proposing: a leader that has chosen a standby to lead instead of it offers that standby the lease.
 *
 * 1. The term goes on until the standby answers, so a standby that has crashed ends no term. Then the term drains, and the lease is
 *    transferred to that standby.
 * 2. A standby that does not answer in time is taken off the list, and the offer is withdrawn or goes to the next choice. The leader asks
 *    that standby again only after it has put itself on the list again, which it does if it lives.
 */

/** How long a standby has to answer. The leader leads meanwhile, so this only delays others that are as good. */
const ANSWER_TIMEOUT_MS = 1000

/** Proposes the lease to the chosen standby, or ends a proposal that was not answered or is no longer the choice. */
export function withProposal(leading: Leading, at: Instant, config: ElectorConfig): Leading {
  if (!config.releaseOnExit) return leading
  // A coordinator began to decide under way.
  if (!decidesItself(config)) return leading.proposal === undefined ? leading : { ...leading, proposal: undefined }
  return leading.proposal === undefined ? proposed(leading, at, config) : continued(leading, at, config)
}

function continued(state: Leading, at: Instant, config: ElectorConfig): Leading {
  const { proposal } = state
  if (proposal === undefined || answeredProposal(state, config) !== undefined) return state
  const next = withOfferSent(state, at)
  const { until } = next.proposal ?? {}
  if (until !== undefined && at.now >= until) return proposed(missed(next, proposal.to, at), at, config)
  return chosenSuccessor(state, at, config)?.identity === proposal.to ? next : proposed(withdrawn(next, at), at, config)
}

/** How this term ends if the proposed successor has answered; undefined otherwise. */
export function answeredProposal({ proposal, hold }: Leading, config: ElectorConfig): StepDown | undefined {
  if (proposal === undefined) return undefined
  const { record } = hold.lease
  const { to } = proposal
  if (readOffer(record)?.to !== to) return undefined
  if (acceptedAnswer(record, { to, except: undefined }, config) === undefined) return undefined
  // If the lease is released after all, others try first. A strategy decides by itself who does.
  const cooldownMs = config.strategy === undefined ? 2 * JITTER_FACTOR * config.timing.retryPeriodMs : 0
  return { reason: 'step-down', to, cooldownMs, answerTimeoutMs: ANSWER_TIMEOUT_MS }
}

/** The renewal of a leader with its proposal, and without a standby that did not answer. */
export function renewalWithProposal(
  { proposal, memory }: Leading,
  at: Instant,
  config: ElectorConfig,
): (hold: Hold) => LeaseWrite {
  return ({ lease }) => {
    const renewal = renewRecord(lease.record, config, at.wallTime)
    const record = isListed(renewal, memory.missed) ? withoutStandby(renewal, memory.missed) : renewal
    if (proposal === undefined) return { purpose: 'renew', base: lease, record }
    const { to } = proposal
    const answer = readAnswer(lease.record)
    const kept = answer?.identity === to ? answer : undefined
    return { purpose: 'renew', base: lease, record: withAnswer(withOffer(record, { to }), kept) }
  }
}

function proposed(leading: Leading, at: Instant, config: ElectorConfig): Leading {
  const state = withoutReturned(leading)
  const successor = chosenSuccessor(state, at, config)
  if (successor === undefined) return state
  return withOfferSent({ ...state, proposal: { to: successor.identity, until: undefined } }, at)
}

/** Sends the offer as soon as no other request is in flight. The time to answer counts from then. */
function withOfferSent(state: Leading, at: Instant): Leading {
  const { proposal, hold } = state
  if (proposal === undefined || proposal.until !== undefined) return state
  const { request } = hold
  if (request.kind === 'waiting') return soon(state, at)
  const isSent = request.kind === 'writing' && readOffer(request.write.record)?.to === proposal.to
  return isSent ? { ...state, proposal: { ...proposal, until: at.now + ANSWER_TIMEOUT_MS } } : state
}

/** Only a standby that could see the offer has missed it. */
function missed(state: Leading, to: string, at: Instant): Leading {
  const isSeen = readOffer(state.hold.lease.record)?.to === to
  const memory = isSeen ? { ...state.memory, missed: to } : state.memory
  return withdrawn({ ...state, memory }, at)
}

function withdrawn(leading: Leading, at: Instant): Leading {
  const { proposal: _, ...state } = leading
  return soon(state, at)
}

/** Renews at once. */
function soon(state: Leading, at: Instant): Leading {
  const { hold } = state
  if (hold.request.kind !== 'waiting' || hold.request.at <= at.now) return state
  return { ...state, hold: { ...hold, request: { kind: 'waiting', at: at.now } } }
}

/** Forgets a standby that did not answer once the list no longer names it: if it is named again, it lives. */
function withoutReturned(state: Leading): Leading {
  const { missed: to, ...memory } = state.memory
  return to === undefined || isListed(state.hold.lease.record, to) ? state : { ...state, memory }
}

function isListed(record: Hold['lease']['record'], identity: string | undefined): identity is string {
  return identity !== undefined && isStandbyOf(record, identity)
}
