import type { LeaseRecord } from '../../lock/lease-record.ts'
import type { ElectorConfig } from '../machine/config.ts'
import type { LeaseWrite } from '../machine/effect.ts'
import type { Instant } from '../machine/event.ts'
import type { AcceptedAnswers, Draining, Hold } from '../machine/state.ts'
import { renewRecord } from '../rules/records.ts'
import { withRequestAnswered } from '../rules/step-down-request.ts'
import {
  type Answer,
  TRANSFER_DURATION_MS,
  readAnswer,
  readOffer,
  withAnswer,
  withOffer,
} from '../rules/transfer-notes.ts'

/*
 * Offering the lease while its term drains, and accepting an answer.
 *
 * 1. The offer is part of a renewal, which is sent early for it. A drain that ends before needs no such write.
 * 2. An answer counts while it is fresh. Its replica sends another one long before it is as old as the validity of a transfer. The next
 *    renewal drops an answer of that age, so that another replica may answer.
 */

/** How long a drain must last before an offer is worth a write, in milliseconds. */
const OFFER_AFTER_MS = 25

/** When to offer the lease: immediately if a replica is named, unless it was proposed already. */
export function planOffer(to: string | undefined, { lease }: Hold, at: Instant): Draining['offer'] {
  if (to !== undefined && readOffer(lease.record)?.to === to) return { kind: 'made' }
  return { kind: 'planned', at: to === undefined ? at.now + OFFER_AFTER_MS : at.now }
}

/** Moves the next renewal to the time of the offer. Records that the offer was sent, and since when an answer is there. */
export function withOfferFollowed(state: Draining, at: Instant): Draining {
  const next = { ...state, answered: answeredSince(state, at) }
  const { offer, hold } = next
  if (offer.kind !== 'planned') return next
  const { request } = hold
  if (request.kind === 'writing' && readOffer(request.write.record) !== undefined) {
    return { ...next, offer: { kind: 'made' } }
  }
  if (request.kind !== 'waiting') return next
  return { ...next, hold: { ...hold, request: { kind: 'waiting', at: Math.min(request.at, offer.at) } } }
}

/** The renewal of a lease with an offer, made or planned, and with the answer to a request that the term ends. */
export function renewalWithOffer(
  { offer, stepDown, answered }: Draining,
  at: Instant,
  config: ElectorConfig,
): (hold: Hold) => LeaseWrite {
  const isDue = offer.kind === 'made' || (offer.kind === 'planned' && at.now >= offer.at)
  return ({ lease }) => {
    const noted = (renewal: LeaseRecord): LeaseRecord => {
      const record = withRequestAnswered(renewal, lease.record, 'draining')
      const answer = readAnswer(lease.record)
      const kept = answer?.nonce === outdatedNonce(answered, at) ? undefined : answer
      return isDue ? withAnswer(withOffer(record, { to: stepDown.to }), kept) : record
    }
    const { wallTime } = at
    return { purpose: 'renew', base: lease, record: renewRecord(lease.record, config, { wallTime, noted }) }
  }
}

/** Which answers count at this moment; none when nothing was offered. */
export function acceptedAnswers({ offer, stepDown, answered }: Draining, at: Instant): AcceptedAnswers | undefined {
  if (offer.kind !== 'made') return undefined
  return { to: stepDown.to, except: outdatedNonce(answered, at) }
}

/** The answer in a record, if it counts. */
export function acceptedAnswer(
  record: LeaseRecord,
  accepts: AcceptedAnswers | undefined,
  { identity }: ElectorConfig,
): Answer | undefined {
  const answer = readAnswer(record)
  if (answer === undefined || accepts === undefined || answer.identity === identity) return undefined
  if (accepts.to !== undefined && answer.identity !== accepts.to) return undefined
  return answer.nonce === accepts.except ? undefined : answer
}

/** The nonce of an answer that is too old: its replica must have ended or lost its connection. */
function outdatedNonce(answered: Draining['answered'], at: Instant): string | undefined {
  const isOld = answered !== undefined && at.now - answered.since >= TRANSFER_DURATION_MS
  return isOld ? answered.nonce : undefined
}

function answeredSince({ hold, answered }: Draining, at: Instant): Draining['answered'] {
  const answer = readAnswer(hold.lease.record)
  if (answer === undefined || answer.nonce === answered?.nonce) return answered
  return { nonce: answer.nonce, since: at.now }
}
