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
  if (isTermOf(record, state.offer?.term)) return withTaken(next, isTaken, answerAt)
  return { ...next, offer: { term: termOf(record), answerAt, isTaken, request: undefined, refused: undefined } }
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
  const { identity, timing, revision } = config
  const patience = { holdBackMs: PATIENCE * holdBackMs, retryPeriodMs: timing.retryPeriodMs, revision }
  return waitForStandbysMs(record, identity, patience)
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

/** When the next answer is due; undefined if there is nothing to answer, or another replica has answered. */
export function answerDueAt(state: Following, { identity }: ElectorConfig): number | undefined {
  const { offer, observation, memory, leaveBy, notBefore } = state
  if (offer === undefined || observation.kind !== 'present') return undefined
  const { lease } = observation
  if (!isAnswerable(offer, lease)) return undefined
  const isOwnStored = isKnown(readAnswer(lease.record), memory.candidate, identity)
  if (leaveBy !== undefined) return isOwnStored ? offer.answerAt : undefined
  if (isOwnStored) return Math.max(nextAnswerAt(memory), offer.answerAt)
  return offer.isTaken ? undefined : Math.max(offer.answerAt, notBefore)
}

/** Whether an answer can be written now: none is in flight, and none was refused on this version. */
function isAnswerable({ request, refused }: SeenOffer, { version }: PresentLease): boolean {
  return request === undefined && (refused === undefined || version > refused)
}

/** When to replace a stored answer by a new one. */
function nextAnswerAt({ candidate }: Memory): number {
  const sentAt = candidate?.sent.at(-1)?.sentAt ?? 0
  return sentAt + RENEW_ANSWER_AFTER_MS
}

/** Answers, answers again, or withdraws the answer. */
export function answerIfDue(state: Following, at: Instant, config: ElectorConfig): Step {
  const { offer, observation } = state
  const dueAt = answerDueAt(state, config)
  if (dueAt === undefined || at.now < dueAt || offer === undefined || observation.kind !== 'present') {
    return { state, effects: [] }
  }
  const memory = nextRequest(state.memory)
  const answer = state.leaveBy === undefined ? newAnswer(memory, at, config) : undefined
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
