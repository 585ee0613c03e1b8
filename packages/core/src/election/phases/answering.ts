import { jittered } from '../../jitter.ts'
import type { LeaseRecord } from '../../lock/lease-record.ts'
import type { PresentLease } from '../../lock/lock.ts'
import type { ElectorConfig } from '../machine/config.ts'
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
 * 1. The first answer stands. Followers that see it do not answer, and all delay twice as long as before a released lease. Should
 *    it be taken back, or given up by the leader because it has grown old, the others begin again.
 * 2. A standing answer is replaced by a fresh one before half of the time for which it is good has passed.
 * 3. Answers change annotations only, so they prolong nothing.
 * 4. A replica that leaves the lease to others, or stops, does not answer. A stopping replica takes its answer back.
 */

/** A fresh answer is sent this long after the last one: well before a transfer that echoes the last one would come too late. */
const RENEW_ANSWER_AFTER_MS = TRANSFER_DURATION_MS * 0.4

/** Answering is less urgent than taking a free lease, so followers hold back for longer, and fewer of them write. */
const PATIENCE = 2

/** More than this many can only be unanswered. */
const MAX_SENT_ANSWERS = 4

/** Takes in what a view of the lease says about offers and answers. */
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
  const offer = offerFor(identity, lease)
  if (offer === undefined) return withoutOffer(next)
  const isTaken = isAnsweredByOther(record, identity)
  const answerAt = at.now + answerDelayMs(offer, record, state.holdBackMs, config)
  if (isTermOf(record, state.offer?.term)) return withTaken(next, isTaken, answerAt)
  return { ...next, offer: { term: termOf(record), answerAt, isTaken, request: undefined, refused: undefined } }
}

function withCandidate(state: Following, candidate: Candidate | undefined): Following {
  const { memory } = state
  return candidate === memory.candidate ? state : { ...state, memory: { ...memory, candidate } }
}

function withoutOffer(state: Following): Following {
  return state.offer === undefined ? state : { ...state, offer: undefined }
}

/** The offer of another replica that this one may answer. */
function offerFor(identity: string, { deleting, record }: PresentLease): Offer | undefined {
  if (deleting || record.holderIdentity === identity) return undefined
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

/** Notes whether another replica has answered a known offer. An offer that is open again is answered from `answerAt` on. */
function withTaken(state: Following, isTaken: boolean, answerAt: number): Following {
  const { offer } = state
  if (offer === undefined || offer.isTaken === isTaken) return state
  return { ...state, offer: { ...offer, isTaken, answerAt: isTaken ? offer.answerAt : answerAt } }
}

function isAnsweredByOther(record: LeaseRecord, identity: string): boolean {
  return (readAnswer(record)?.identity ?? identity) !== identity
}

/** Whether an answer of this replica is under way or stored: stopping would leave the lease to nobody. */
export function isAnswerPending({ offer, memory }: Following): boolean {
  return offer !== undefined && (offer.request !== undefined || memory.candidate?.stands === true)
}

/** When the next answer is due; undefined while there is nothing to answer, or another one stands. */
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

/** Whether an answer can be written now: none is under way, and none was refused on this version. */
function isAnswerable({ request, refused }: SeenOffer, { version }: PresentLease): boolean {
  return request === undefined && (refused === undefined || version > refused)
}

/** When to replace a stored answer by a fresh one. */
function nextAnswerAt({ candidate }: Memory): number {
  const sentAt = candidate?.sent.at(-1)?.sentAt ?? 0
  return sentAt + RENEW_ANSWER_AFTER_MS
}

/** Answers, answers again, or takes the answer back. */
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

/** Takes in that an answer was written, or was not. */
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

/** Unique to this answer: identities are unique per process, requests are numbered, and chance is for those that are not. */
function newAnswer(memory: Memory, at: Instant, { identity }: ElectorConfig): Answer {
  return { identity, nonce: `${memory.requests}-${at.random.toString(36).slice(2)}` }
}

function withSent(memory: Memory, term: TermKey, answer: SentAnswer): Memory {
  const last = memory.candidate
  const isSameTerm = last?.term.identity === term.identity && last.term.acquireTime === term.acquireTime
  const sent = isSameTerm ? [...last.sent, answer].slice(-MAX_SENT_ANSWERS) : [answer]
  return { ...memory, candidate: { term, sent, stands: isSameTerm && last.stands } }
}

/** What is left of a candidate once the lease was seen to be as it is; nothing when somebody else will be the successor. */
function candidateAfter(candidate: Candidate, record: LeaseRecord, identity: string): Candidate | undefined {
  const { holderIdentity } = record
  if (holderIdentity === '' || holderIdentity === identity) return candidate
  if (!isTermOf(record, candidate.term) || readOffer(record) === undefined) return undefined
  const answer = readAnswer(record)
  if (answer !== undefined && answer.identity !== identity) return undefined
  const stands = isKnown(answer, candidate, identity)
  return stands === candidate.stands ? candidate : { ...candidate, stands }
}

function isKnown(answer: Answer | undefined, candidate: Candidate | undefined, identity: string): boolean {
  return answer?.identity === identity && candidate?.sent.some(({ nonce }) => nonce === answer.nonce) === true
}
