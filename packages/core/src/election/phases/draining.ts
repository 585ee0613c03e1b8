import { type DrainEvent, OPEN, transition as drainTransition } from '../../drain/machine.ts'
import { cleanupBudget, decidesItself, type TransitionContext } from '../machine/config.ts'
import type { ElectorEffect } from '../machine/effect.ts'
import type { Draining, Hold, Leading, Step } from '../machine/state.ts'
import { after } from '../rules/after.ts'
import { earliest } from '../rules/earliest.ts'
import { observationOf, type ObservationContext } from '../rules/observation.ts'
import { abort } from './aborting.ts'
import { drainOutcome } from './drain-outcome.ts'
import { type HoldStep, holdWakesAt } from './hold.ts'
import { acceptedAnswer, acceptedAnswers, planOffer, withOfferFollowed } from './offering.ts'
import { cooldownAfter, endTerm, release } from './releasing.ts'

/*
 * A voluntary end: the lease is renewed until the term is empty, then it is released. When that is so is the business of the drain
 * alone: a release takes its proof.
 */

/** Begins a voluntary end. */
export function drain(
  leading: Leading,
  order: Pick<Draining, 'stepDown' | 'afterwards'>,
  { at, config }: TransitionContext,
): Step {
  const { proposal: _proposal, declined: _declined, since: _since, departure: _departure, ...state } = leading
  const { drainTimeoutMs, abortGraceMs } = config.timing
  const abortAt = at.now + drainTimeoutMs
  const plan = { voluntary: true, abortAt, wedgedAt: abortAt + abortGraceMs, cleanups: cleanupBudget(config) }
  // A coordinator chooses the successor, so there is no answer to wait for.
  const mayOffer = config.releaseOnExit && decidesItself(config)
  const { to, answerTimeoutMs = 0 } = order.stepDown
  const draining: Draining = {
    ...state,
    kind: 'draining',
    drain: drainTransition(OPEN, { kind: 'ask', plan, now: at.now }).state,
    offer: mayOffer ? planOffer(to, state.hold, at) : { kind: 'none' },
    answered: undefined,
    answerBy: to === undefined || !mayOffer ? at.now : at.now + answerTimeoutMs,
    ...order,
  }
  const effects: ElectorEffect[] = [{ kind: 'end-term', reason: order.stepDown.reason, voluntary: true }]
  return { state: withOfferFollowed(draining, at), effects }
}

/** Goes on with a drain after something happened to the held lease. */
export function drainingStep(state: Draining, step: HoldStep, context: ObservationContext): Step {
  if (step.kind === 'lost') return after(step.effects, abort(state, step, context))
  const next = withOfferFollowed({ ...state, memory: step.memory, hold: step.hold }, context.at)
  return after(step.effects, drainingOn(next, { kind: 'wake', now: context.at.now }, context))
}

/** Takes in what happened to the work of the term. */
export function drainingOn(state: Draining, event: DrainEvent, context: TransitionContext): Step {
  const { drain, effects, isAbandoned } = drainOutcome(state, event, context.config)
  const next: Draining = { ...state, drain }
  if (isAbandoned) return after(effects, leave(next, observationOf(undefined, state, context), context))
  return after(effects, releaseIfEmpty(next, context))
}

/** The replica stops while its term drains: it waits no longer for an answer once the term is empty. */
export function stopDraining(state: Draining, context: TransitionContext): Step {
  const answerBy = Math.min(state.answerBy, context.at.now)
  return releaseIfEmpty({ ...state, afterwards: 'stop', answerBy }, context)
}

/** When a draining term next has to do something by itself. */
export function drainingWakesAt(state: Draining, drainAt: number | undefined): number | undefined {
  const answerBy = state.drain.kind === 'empty' && isIdle(state.hold) ? state.answerBy : undefined
  return earliest([answerBy, drainAt, holdWakesAt(state.hold)])
}

/** Releases or transfers as soon as no renewal is under way that this could collide with, and no answer is waited for. */
function releaseIfEmpty(state: Draining, context: TransitionContext): Step {
  const { hold, memory, epoch, drain, afterwards, bequest } = state
  const { at, config } = context
  if (drain.kind !== 'empty' || !isIdle(hold)) return { state, effects: [] }
  if (!config.releaseOnExit) return leave(state, observationOf(hold.lease, state, context), context)
  const accepts = acceptedAnswers(state, at)
  const isAnswered = acceptedAnswer(hold.lease.record, accepts, config) !== undefined
  if (!isAnswered && at.now < state.answerBy) return { state, effects: [] }
  const { cooldownMs } = state.stepDown
  return release({ memory, hold, drain, epoch, cooldownMs, accepts, afterwards, bequest }, at, config)
}

function isIdle({ request }: Hold): boolean {
  return request.kind === 'waiting'
}

/** Leaves the lease to expire. */
function leave(
  state: Draining,
  observation: ReturnType<typeof observationOf>,
  { at, config }: TransitionContext,
): Step {
  const cooldownMs = cooldownAfter('expired', state.stepDown.cooldownMs, config)
  return endTerm({ ...state, cooldownMs }, { outcome: 'expired', observation, at, config })
}
