import { type DrainEvent, type DrainPlan, OPEN } from '../../drain/machine.ts'
import type { LockSnapshot, PresentLease } from '../../lock/lock.ts'
import type { InvoluntaryEndReason } from '../leadership-ended-error.ts'
import { cleanupBudget, type ElectorConfig, type TransitionContext } from '../machine/config.ts'
import type { ElectorEffect } from '../machine/effect.ts'
import type { Aborting, Draining, Leading, Memory, Step } from '../machine/state.ts'
import { after } from '../rules/after.ts'
import { observationOf, observe, type ObservationContext } from '../rules/observation.ts'
import { statedMs } from '../rules/records.ts'
import { drainOutcome } from './drain-outcome.ts'
import { follow } from './follow.ts'
import { cooldownAfter, endTerm } from './releasing.ts'

/*
 * An involuntary end: nothing is written any more. Everything must be gone by `validUntil`; after a takeover, at once.
 */

/** Begins an involuntary end, or turns a voluntary one into it. */
export function abort(
  state: Leading | Draining,
  loss: {
    readonly memory: Memory
    readonly reason: InvoluntaryEndReason
    readonly snapshot: LockSnapshot | undefined
  },
  context: ObservationContext,
): Step {
  const { hold } = state
  const aborting: Aborting = {
    kind: 'aborting',
    memory: loss.memory,
    observation: observationOf(loss.snapshot, state, context),
    epoch: state.epoch,
    reason: loss.reason,
    validUntil: hold.validUntil,
    drain: state.kind === 'draining' ? state.drain : OPEN,
    stepDown: state.kind === 'draining' ? state.stepDown : undefined,
    afterwards: state.kind === 'draining' ? state.afterwards : 'follow',
  }
  const effects: ElectorEffect[] = [{ kind: 'end-term', reason: loss.reason, voluntary: false }]
  if (loss.reason === 'superseded') effects.push({ kind: 'close-gate' })
  return after(effects, hasten(aborting, abortTimes(loss.reason, hold.validUntil, context), context))
}

/** Another holder that is seen while the term ends for another reason leaves no time. */
export function abortingObserved(state: Aborting, snapshot: LockSnapshot, context: TransitionContext): Step {
  const { at, config } = context
  const seen = observe(follow(state.memory, state.observation, at, { notBefore: at.now }), snapshot, context).state
  const { highestEpoch, longestHeldMs, isBehind } = seen.memory
  const memory = { ...state.memory, highestEpoch, longestHeldMs, isBehind }
  const next: Aborting = { ...state, memory, observation: seen.observation }
  const isNews = seen.observation !== state.observation
  const isTakenOver = isNews && isForeign(snapshot, state.memory)
  if (isNews && !isTakenOver && snapshot.kind === 'present') return abortingEdited(next, snapshot, context)
  if (!isTakenOver || state.reason === 'superseded') return { state: next, effects: [] }
  const times = { abortAt: at.now, wedgedAt: Math.min(wedgedAtOf(state), at.now + config.timing.abortGraceMs) }
  return after([{ kind: 'close-gate' }], hasten({ ...next, reason: 'superseded' }, times, context))
}

/** The record of the term was edited: others may take it after what it states now. */
function abortingEdited(state: Aborting, { record }: PresentLease, context: TransitionContext): Step {
  const { at, config } = context
  const { clockRateTolerance, abortGraceMs } = config.timing
  const validUntil = at.now + statedMs(record) * (1 - clockRateTolerance)
  if (validUntil >= state.validUntil) return { state, effects: [] }
  const wedgedAt = Math.min(wedgedAtOf(state), validUntil)
  const times = { abortAt: Math.min(abortAtOf(state), wedgedAt - abortGraceMs), wedgedAt }
  return after([{ kind: 'shorten-validity', validUntil }], hasten({ ...state, validUntil }, times, context))
}

/** Takes in what happened to the work of the term. */
export function abortingOn(state: Aborting, event: DrainEvent, context: TransitionContext): Step {
  const { drain, effects, isAbandoned } = drainOutcome(state, event, context.config)
  const isWedged = isAbandoned || state.drain.kind === 'wedged'
  if (isAbandoned || drain.kind === 'empty') return after(effects, over(state, isWedged, context))
  return { state: { ...state, drain }, effects }
}

/** Gives the work of the term no more time than this. */
function hasten(state: Aborting, times: AbortTimes, context: TransitionContext): Step {
  const plan: DrainPlan = { voluntary: false, ...times, cleanups: cleanupBudget(context.config) }
  return abortingOn(state, { kind: 'ask', plan, now: context.at.now }, context)
}

type AbortTimes = Pick<DrainPlan, 'abortAt' | 'wedgedAt'>

function abortAtOf({ drain }: Aborting): number {
  return 'abortAt' in drain ? (drain.abortAt ?? Infinity) : Infinity
}

function wedgedAtOf({ drain }: Aborting): number {
  return 'wedgedAt' in drain ? drain.wedgedAt : Infinity
}

/**
 * When the tasks of an involuntary end are aborted, and when what is left of them is wedged: no later than the lease is over. Once
 * that has passed nothing is left to be in time for, and the tasks get the full grace.
 */
function abortTimes(reason: InvoluntaryEndReason, validUntil: number, { at, config }: TransitionContext): AbortTimes {
  const { abortGraceMs } = config.timing
  const afterGrace = at.now + abortGraceMs
  if (at.now >= validUntil) return { abortAt: at.now, wedgedAt: afterGrace }
  if (reason === 'superseded') return { abortAt: at.now, wedgedAt: Math.min(afterGrace, validUntil) }
  return { abortAt: validUntil - abortGraceMs, wedgedAt: validUntil }
}

/** Whether the lease belongs to another term than the last one of this replica; late renewals of that one do not count. */
function isForeign(snapshot: LockSnapshot, { own }: Memory): boolean {
  if (snapshot.kind === 'absent') return false
  const { holderIdentity, acquireTime } = snapshot.record
  return holderIdentity !== own?.holderIdentity || acquireTime !== own.acquireTime
}

/** The term is over: it is empty, or what is left of it is abandoned. */
function over(state: Aborting, isWedged: boolean, { at, config }: TransitionContext): Step {
  const outcome = state.reason === 'superseded' || state.reason === 'lease-deleted' ? 'lost' : 'expired'
  const cooldownMs = cooldownAfterAbort({ stepDown: state.stepDown, isWedged }, outcome, config)
  return endTerm({ ...state, cooldownMs }, { outcome, observation: state.observation, at, config })
}

/** What is left of a wedged term may act until others could take the lease, so this replica must not take it earlier either. */
function cooldownAfterAbort(
  { stepDown, isWedged }: Pick<Aborting, 'stepDown'> & { readonly isWedged: boolean },
  outcome: 'lost' | 'expired',
  config: ElectorConfig,
): number {
  if (stepDown !== undefined) return cooldownAfter(outcome, stepDown.cooldownMs, config)
  return isWedged ? config.timing.leaseDurationMs : 0
}
