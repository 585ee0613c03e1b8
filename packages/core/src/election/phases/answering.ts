import { jittered } from '../../jitter.ts'
import type { LeaseRecord } from '../../lock/lease-record.ts'
import type { PresentLease } from '../../lock/lock.ts'
import { decidesItself, type ElectorConfig } from '../machine/config.ts'
import type { LeaseWrite } from '../machine/effect.ts'
import type { Instant, TermKey, WriteResult } from '../machine/event.ts'
import type { Candidate, Following, Memory, SeenOffer, SentAnswer, Step } from '../machine/state.ts'
import { nextRequest } from '../rules/memory.ts'
import { pauseAfterFailureMs } from '../rules/retry-after.ts'
import { waitForStandbysMs } from '../rules/standby.ts'
import { isTermOf, termOf } from '../rules/term-key.ts'
import {
  type Answer,
  type Offer,
  TRANSFER_DURATION_MS,
  readAnswer,
  readOffer,
  withAnswer,
} from '../rules/transfer-notes.ts'

/*
 * Answering the offer of a leader that drains.
 *
 * 1. The first answer counts. Followers that see it do not answer. They answer in the order in which they acquire a released lease, but
 *    the random part of their delay is twice as long. If the answer is withdrawn, or the leader drops it because it is old, the others
 *    begin again.
 * 2. A stored answer is replaced by a new one before half of its validity has passed.
 * 3. Answers change only annotations, so they extend no lease.
 * 4. A replica in its cool-down, or that stops, does not answer. A stopping replica withdraws its answer.
 * 5. A replica that is about to be stopped lets all others answer first: it withdraws its answer, and answers a retry period later if the
 *    offer is still open. So a rollout that begins while the leader drains does not give the lease to a replica that it stops next. Where
 *    the offer names this replica, no other may answer, and it does not give way.
 */

/** A new answer is sent this long after the last one, well before a transfer that echoes the last one would be too late. */
const RENEW_ANSWER_AFTER_MS = TRANSFER_DURATION_MS * 0.4

/** Answering is less urgent than acquiring a free lease. Followers hold back longer, so that fewer of them write. */
const PATIENCE = 2

/** The maximum number of sent answers to remember. Older ones got no reply. */
const MAX_SENT_ANSWERS = 4

/** Updates offers and answers from the last view of the lease. */
export function withOfferSeen(state: Following, at: Instant, config: ElectorConfig): Following {
  const { observation } = state
  switch (observation.kind) {
    case 'unknown':
    case 'outdated':
      return state
    case 'absent':
      return withoutOffer(withCandidate(state, undefined))
    case 'present':
      return withLeaseSeen(state, observation.lease, at, config)
    default:
      return observation satisfies never
  }
}

function withLeaseSeen(state: Following, lease: PresentLease, at: Instant, config: ElectorConfig): Following {
  const { record } = lease
  const { identity } = config
  const { candidate } = state.memory
  const next = withCandidate(state, candidate && candidateAfter(candidate, record, identity))
  const offer = offerFor(config, lease)
  if (offer === undefined) return withoutOffer(next)
  const isTaken = isAnsweredByOther(record, identity)
  const answerAt = at.now + answerDelayMs(offer, record, state.holdBackMs, config)
  const known = isTermOf(record, state.offer?.term)
    ? withTaken(next, isTaken, answerAt)
    : { ...next, offer: { term: termOf(record), answerAt, isTaken, request: undefined, refused: undefined } }
  return withWayGiven(known, offer, at, config)
}

/** Records since when this replica gives way to others. */
function withWayGiven(state: Following, { to }: Offer, { now }: Instant, { departure }: ElectorConfig): Following {
  const { offer } = state
  const givesWay = departure !== undefined && to === undefined
  if (offer === undefined || givesWay === (offer.givesWaySince !== undefined)) return state
  return { ...state, offer: { ...offer, givesWaySince: givesWay ? now : undefined } }
}

function withCandidate(state: Following, candidate: Candidate | undefined): Following {
  const { memory } = state
  return { ...state, memory: { ...memory, candidate } }
}

function withoutOffer(state: Following): Following {
  return { ...state, offer: undefined }
}

/** The offer of another replica that this one may answer. */
function offerFor(config: ElectorConfig, { deleting, record }: PresentLease): Offer | undefined {
  const { identity, neverLeads } = config
  if (deleting || neverLeads === true || record.holderIdentity === identity || !decidesItself(config)) return undefined
  const offer = readOffer(record)
  return offer?.to === undefined || offer.to === identity ? offer : undefined
}

/** How long to let others answer first: not at all where the offer names this replica. */
function answerDelayMs({ to }: Offer, record: LeaseRecord, holdBackMs: number, config: ElectorConfig): number {
  if (to !== undefined) return 0
  const { identity, timing, revision, departure } = config
  const { retryPeriodMs } = timing
  const waitMs = waitForStandbysMs(record, identity, { holdBackMs: PATIENCE * holdBackMs, retryPeriodMs, revision })
  return departure === undefined ? waitMs : waitMs + retryPeriodMs
}

/** Records whether another replica has answered a known offer. If the offer is open again, this replica answers it from `answerAt`. */
function withTaken(state: Following, isTaken: boolean, answerAt: number): Following {
  const { offer } = state
  if (offer === undefined || offer.isTaken === isTaken) return state
  return { ...state, offer: { ...offer, isTaken, answerAt: isTaken ? offer.answerAt : answerAt } }
}

function isAnsweredByOther(record: LeaseRecord, identity: string): boolean {
  return (readAnswer(record)?.identity ?? identity) !== identity
}

/** Whether an answer of this replica is in flight or stored: the lease may be transferred to this replica, which must not stop yet. */
export function isAnswerPending({ offer, memory }: Following): boolean {
  return offer !== undefined && (offer.request !== undefined || memory.candidate?.stands === true)
}

/** When this replica answers, answers again or withdraws its answer; undefined if it does nothing, or another replica has answered. */
export function answerDueAt(state: Following, config: ElectorConfig): number | undefined {
  return nextStep(state, config)?.at
}

/** When the next answer is written, and whether it withdraws the stored one. */
interface NextStep {
  readonly at: number
  readonly withdraws: boolean
}

function nextStep(state: Following, config: ElectorConfig): NextStep | undefined {
  const { offer, observation, memory, leaveBy, notBefore } = state
  if (offer === undefined || observation.kind !== 'present') return undefined
  const { lease } = observation
  if (!isAnswerable(offer, lease)) return undefined
  const { identity, timing } = config
  if (isKnown(readAnswer(lease.record), memory.candidate, identity)) return stepAfterAnswer(state, offer)
  const { answerAt, isTaken, givesWaySince = -Infinity } = offer
  if (leaveBy !== undefined || isTaken) return undefined
  return { at: Math.max(answerAt, notBefore, givesWaySince + timing.retryPeriodMs), withdraws: false }
}

/** A replica that stops, or that was not about to be stopped yet when it answered, withdraws its answer. Others replace theirs in time. */
function stepAfterAnswer({ memory, leaveBy }: Following, { answerAt, givesWaySince = -Infinity }: SeenOffer): NextStep {
  const sentAt = memory.candidate?.sent.at(-1)?.sentAt ?? 0
  const withdraws = leaveBy !== undefined || sentAt <= givesWaySince
  return { at: withdraws ? answerAt : Math.max(sentAt + RENEW_ANSWER_AFTER_MS, answerAt), withdraws }
}

/** Whether an answer can be written now: none is in flight, and none was refused on this version. */
function isAnswerable({ request, refused }: SeenOffer, { version }: PresentLease): boolean {
  return request === undefined && (refused === undefined || version > refused)
}

/** Answers, answers again, or withdraws the answer. */
export function answerIfDue(state: Following, at: Instant, config: ElectorConfig): Step {
  const { offer, observation } = state
  const step = nextStep(state, config)
  if (step === undefined || at.now < step.at || offer === undefined || observation.kind !== 'present') {
    return { state, effects: [] }
  }
  const memory = nextRequest(state.memory)
  const answer = step.withdraws ? undefined : newAnswer(memory, at, config)
  const base = observation.lease
  const write: LeaseWrite = { purpose: 'answer', base, record: withAnswer(base.record, answer) }
  const request = { number: memory.requests, base: base.version }
  const next = answer === undefined ? memory : withSent(memory, offer.term, { nonce: answer.nonce, sentAt: at.now })
  return {
    state: { ...state, memory: next, offer: { ...offer, request } },
    effects: [{ kind: 'write', request: memory.requests, write }],
  }
}

/** Handles the result of writing an answer. */
export function answerWritten(state: Following, result: WriteResult, at: Instant, config: ElectorConfig): Following {
  const { offer } = state
  if (offer?.request === undefined) return state
  const idle: SeenOffer = { ...offer, request: undefined }
  if (result.kind === 'written') return { ...state, offer: idle }
  if (result.failure === 'conflict') return { ...state, offer: { ...idle, refused: offer.request.base } }
  const leastMs = jittered(config.timing.retryPeriodMs / 4, at.random)
  const pauseMs = pauseAfterFailureMs(result.retryAfterMs, leastMs, config.timing)
  return { ...state, offer: { ...idle, answerAt: at.now + pauseMs } }
}

/**
 * Creates an answer with a unique nonce. Identities are unique per process and requests are numbered; the random part covers identities
 * that are not unique.
 */
function newAnswer(memory: Memory, at: Instant, { identity }: ElectorConfig): Answer {
  return { identity, nonce: `${memory.requests}-${at.random.toString(36).slice(2)}` }
}

function withSent(memory: Memory, term: TermKey, answer: SentAnswer): Memory {
  const { sent = [], stands = false } = memory.candidate ?? {}
  return { ...memory, candidate: { term, sent: [...sent, answer].slice(-MAX_SENT_ANSWERS), stands } }
}

/** The candidate after this view of the lease; undefined if another replica will be the successor. */
function candidateAfter(candidate: Candidate, record: LeaseRecord, identity: string): Candidate | undefined {
  const { holderIdentity } = record
  if (holderIdentity === '' || holderIdentity === identity) return candidate
  if (!isTermOf(record, candidate.term) || readOffer(record) === undefined) return undefined
  const answer = readAnswer(record)
  if (answer !== undefined && answer.identity !== identity) return undefined
  return { ...candidate, stands: isKnown(answer, candidate, identity) }
}

function isKnown(answer: Answer | undefined, candidate: Candidate | undefined, identity: string): boolean {
  return answer?.identity === identity && candidate?.sent.some(({ nonce }) => nonce === answer.nonce) === true
}
