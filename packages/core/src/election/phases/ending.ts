import type { LockSnapshot, PresentLease } from '../../lock/lock.ts'
import type { InvoluntaryEndReason } from '../leadership-ended-error.ts'
import type { ElectorConfig } from '../machine/config.ts'
import type { ElectorEffect } from '../machine/effect.ts'
import type { Instant } from '../machine/event.ts'
import type { Aborting, Draining, Hold, Leading, Memory, Step } from '../machine/state.ts'
import { earliest } from '../rules/earliest.ts'
import { observationOf, observe } from '../rules/observation.ts'
import { statedMs } from '../rules/records.ts'
import { follow } from './follow.ts'
import { holdWakesAt } from './hold.ts'
import { acceptedAnswer, acceptedAnswers, planOffer, withOfferFollowed } from './offering.ts'
import { cooldownAfter, endTerm, release } from './releasing.ts'

/*
 * Ending a term.
 *
 * 1. Voluntary: renew until the term is empty, then release. Tasks first finish by themselves, then they are aborted.
 * 2. Involuntary: write nothing more. Everything must be gone by `validUntil`; after a takeover, at once.
 * 3. A drain that does not end is wedged and stays so until it does end: nothing is ever released over a live task.
 */

/** Begins a voluntary end. */
export function drain(state: Leading, order: Pick<Draining, 'stepDown' | 'afterwards'>, context: EndContext): Step {
  const { at, config } = context
  const hardAbortAt = at.now + config.timing.drainTimeoutMs
  const { to, answerTimeoutMs = 0 } = order.stepDown
  const draining: Draining = {
    ...state,
    kind: 'draining',
    stage: 'asked',
    hardAbortAt,
    wedgedAt: hardAbortAt + config.timing.abortGraceMs,
    offer: config.releaseOnExit ? planOffer(to, at) : { kind: 'none' },
    answered: undefined,
    answerBy: to === undefined ? at.now : at.now + answerTimeoutMs,
    ...order,
  }
  const effects: ElectorEffect[] = [{ kind: 'end-term', reason: order.stepDown.reason, voluntary: true }]
  return { state: withOfferFollowed(draining, at), effects }
}

/** The moment and the rules under which a term ends. */
export interface EndContext {
  readonly at: Instant
  readonly config: ElectorConfig
}

/** Begins an involuntary end, or turns a voluntary one into it. */
export function abort(
  state: Leading | Draining,
  loss: {
    readonly memory: Memory
    readonly reason: InvoluntaryEndReason
    readonly snapshot: LockSnapshot | undefined
  },
  { at, config }: EndContext,
): Step {
  const { hold } = state
  const stage = state.kind === 'draining' && state.stage !== 'empty' ? state.stage : 'asked'
  const aborting: Aborting = {
    kind: 'aborting',
    memory: loss.memory,
    observation: observationOf(loss.snapshot, hold, at),
    epoch: state.epoch,
    reason: loss.reason,
    validUntil: hold.validUntil,
    stage,
    ...abortTimes(loss.reason, hold.validUntil, { at, config }),
    stepDown: state.kind === 'draining' ? state.stepDown : undefined,
    afterwards: state.kind === 'draining' ? state.afterwards : 'follow',
  }
  const effects: ElectorEffect[] = [{ kind: 'end-term', reason: loss.reason, voluntary: false }]
  if (loss.reason === 'superseded') effects.push({ kind: 'close-gate' })
  if (state.kind === 'draining' && state.stage === 'empty') {
    const step = drainedAborting(aborting, { at, config })
    return { state: step.state, effects: [...effects, ...step.effects] }
  }
  const step = escalate(aborting, at)
  return { state: step.state, effects: [...effects, ...step.effects] }
}

/** Another holder that is seen while the term ends for another reason leaves no time. */
export function abortingObserved(state: Aborting, snapshot: LockSnapshot, { at, config }: EndContext): Step {
  const seen = observe(follow(state.memory, state.observation, at, { notBefore: at.now }), snapshot, at, config).state
  const memory = { ...state.memory, highestEpoch: seen.memory.highestEpoch }
  const next: Aborting = { ...state, memory, observation: seen.observation }
  const isNews = seen.observation !== state.observation
  const isTakenOver = isNews && isForeign(snapshot, state.memory)
  if (isNews && !isTakenOver && snapshot.kind === 'present') return abortingEdited(next, snapshot, { at, config })
  if (!isTakenOver || state.reason === 'superseded') return { state: next, effects: [] }
  const wedgedAt = Math.min(state.wedgedAt, at.now + config.timing.abortGraceMs)
  const step = escalate({ ...next, reason: 'superseded', hardAbortAt: at.now, wedgedAt }, at)
  return { state: step.state, effects: [{ kind: 'close-gate' }, ...step.effects] }
}

/** The record of the term was edited: others may take it after what it states now. */
function abortingEdited(state: Aborting, { record }: PresentLease, { at, config }: EndContext): Step {
  const { clockRateTolerance, abortGraceMs } = config.timing
  const validUntil = at.now + statedMs(record) * (1 - clockRateTolerance)
  if (validUntil >= state.validUntil) return { state, effects: [] }
  const wedgedAt = Math.min(state.wedgedAt, validUntil)
  const hardAbortAt = Math.min(state.hardAbortAt, wedgedAt - abortGraceMs)
  const step = escalate({ ...state, validUntil, hardAbortAt, wedgedAt }, at)
  return { state: step.state, effects: [{ kind: 'shorten-validity', validUntil }, ...step.effects] }
}

/**
 * When the tasks of an involuntary end are aborted, and when what is left of them is wedged: no later than the lease is over. Once
 * that has passed nothing is left to be in time for, and the tasks get the full grace.
 */
function abortTimes(
  reason: InvoluntaryEndReason,
  validUntil: number,
  { at, config }: EndContext,
): Pick<Aborting, 'hardAbortAt' | 'wedgedAt'> {
  const { abortGraceMs } = config.timing
  const afterGrace = at.now + abortGraceMs
  if (at.now >= validUntil) return { hardAbortAt: at.now, wedgedAt: afterGrace }
  if (reason === 'superseded') return { hardAbortAt: at.now, wedgedAt: Math.min(afterGrace, validUntil) }
  return { hardAbortAt: validUntil - abortGraceMs, wedgedAt: validUntil }
}

/** Whether the lease belongs to another term than the last one of this replica; late renewals of that one do not count. */
function isForeign(snapshot: LockSnapshot, { own }: Memory): boolean {
  if (snapshot.kind === 'absent') return false
  const { holderIdentity, acquireTime } = snapshot.record
  return holderIdentity !== own?.holderIdentity || acquireTime !== own.acquireTime
}

/** Aborts what is left once the time for that has come; reports the drain as wedged once that did not help. */
export function escalate<S extends Draining | Aborting>(state: S, at: Instant): { state: S; effects: ElectorEffect[] } {
  const effects: ElectorEffect[] = []
  let stage = state.stage
  if (stage === 'asked' && at.now >= state.hardAbortAt) {
    stage = 'aborted'
    effects.push({ kind: 'hard-abort' })
  }
  if (stage === 'aborted' && at.now >= state.wedgedAt) {
    stage = 'wedged'
    effects.push({ kind: 'wedged' })
  }
  return { state: { ...state, stage }, effects }
}

/** When an ending term next has to do something by itself. */
export function endingWakesAt(state: Draining | Aborting): number | undefined {
  if (state.kind === 'draining' && state.stage === 'empty') {
    return earliest([isIdle(state.hold) ? state.answerBy : undefined, holdWakesAt(state.hold)])
  }
  const next = { asked: state.hardAbortAt, aborted: state.wedgedAt, wedged: undefined, empty: undefined }[state.stage]
  return earliest([next, state.kind === 'draining' ? holdWakesAt(state.hold) : undefined])
}

/**
 * The term of a voluntary end is empty: release or transfer, as soon as no renewal is under way that this could collide with, and
 * no answer is waited for.
 */
export function drainedVoluntarily(state: Draining, context: EndContext): Step {
  const { hold, memory, epoch, afterwards } = state
  if (!context.config.releaseOnExit) return isIdle(hold) ? leave(state, hold, context) : emptied(state)
  const accepts = acceptedAnswers(state, context.at)
  const isAnswered = acceptedAnswer(hold.lease.record, accepts, context.config) !== undefined
  if (!isIdle(hold) || (!isAnswered && context.at.now < state.answerBy)) return emptied(state)
  const { cooldownMs } = state.stepDown
  return release({ memory, hold, epoch, cooldownMs, accepts, afterwards }, context.at, context.config)
}

/** The replica stops while its term drains: it waits no longer for an answer once the term is empty. */
export function stopDraining(state: Draining, context: EndContext): Step {
  const answerBy = Math.min(state.answerBy, context.at.now)
  const next: Draining = { ...state, afterwards: 'stop', answerBy }
  return next.stage === 'empty' ? drainedVoluntarily(next, context) : { state: next, effects: [] }
}

/** The term of an involuntary end is empty. */
export function drainedAborting(state: Aborting, context: EndContext): Step {
  const outcome = state.reason === 'superseded' || state.reason === 'lease-deleted' ? 'lost' : 'expired'
  const cooldownMs = cooldownAfterAbort(state, outcome, context.config)
  return endTerm({ ...state, cooldownMs }, { outcome, observation: state.observation, ...context })
}

function isIdle({ request }: Hold): boolean {
  return request.kind === 'waiting'
}

function emptied(state: Draining): Step {
  return { state: { ...state, stage: 'empty' }, effects: [] }
}

/** What is left of a wedged term may act until others could take the lease, so this replica must not take it earlier either. */
function cooldownAfterAbort(state: Aborting, outcome: 'lost' | 'expired', config: ElectorConfig): number {
  if (state.stepDown !== undefined) return cooldownAfter(outcome, state.stepDown.cooldownMs, config)
  return state.stage === 'wedged' ? config.timing.leaseDurationMs : 0
}

/** Leaves the lease to expire. */
function leave(state: Draining, hold: Hold, context: EndContext): Step {
  const cooldownMs = cooldownAfter('expired', state.stepDown.cooldownMs, context.config)
  const observation = observationOf(hold.lease, hold, context.at)
  return endTerm({ ...state, cooldownMs }, { outcome: 'expired', observation, ...context })
}
