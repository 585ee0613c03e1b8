import type { LockSnapshot } from '../../lock/lock.ts'
import type { InvoluntaryEndReason } from '../leadership-ended-error.ts'
import type { ElectorConfig } from './config.ts'
import type { ElectorEffect } from './effect.ts'
import type { Instant } from './event.ts'
import { earliest } from './following.ts'
import { holdWakesAt } from './hold.ts'
import { endTerm, observationOf, release } from './releasing.ts'
import type { Aborting, Draining, Hold, Leading, Memory, Step } from './state.ts'

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
  const draining: Draining = {
    ...state,
    kind: 'draining',
    stage: 'asked',
    hardAbortAt,
    wedgedAt: hardAbortAt + config.timing.abortGraceMs,
    ...order,
  }
  return { state: draining, effects: [{ kind: 'end-term', reason: order.stepDown.reason, voluntary: true }] }
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
  const { abortGraceMs } = config.timing
  const isOverNow = loss.reason === 'superseded' || at.now >= hold.validUntil
  const stage = state.kind === 'draining' && state.stage !== 'empty' ? state.stage : 'asked'
  const aborting: Aborting = {
    kind: 'aborting',
    memory: loss.memory,
    observation: observationOf(loss.snapshot, hold, at),
    epoch: state.epoch,
    reason: loss.reason,
    stage,
    hardAbortAt: isOverNow ? at.now : hold.validUntil - abortGraceMs,
    wedgedAt: isOverNow ? at.now + abortGraceMs : hold.validUntil,
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
  const next = { asked: state.hardAbortAt, aborted: state.wedgedAt, wedged: undefined, empty: undefined }[state.stage]
  return earliest([next, state.kind === 'draining' ? holdWakesAt(state.hold) : undefined])
}

/** The term of a voluntary end is empty: release, as soon as no renewal is under way that the release could collide with. */
export function drainedVoluntarily(state: Draining, context: EndContext): Step {
  const { hold, memory, epoch, afterwards } = state
  if (hold.request.kind === 'writing' || hold.request.kind === 'reading') {
    return { state: { ...state, stage: 'empty' }, effects: [] }
  }
  const { cooldownMs } = state.stepDown
  if (context.config.releaseOnExit) {
    return release({ memory, hold, epoch, cooldownMs, afterwards }, context.at, context.config)
  }
  return leave(state, hold, context)
}

/** The term of an involuntary end is empty. */
export function drainedAborting(state: Aborting, context: EndContext): Step {
  const outcome = state.reason === 'superseded' || state.reason === 'lease-deleted' ? 'lost' : 'left'
  return endTerm({ ...state, cooldownMs: 0 }, { outcome, observation: state.observation, ...context })
}

/** Leaves the lease to expire. This replica must not be the first to take it, so it waits for longer than the others. */
function leave(state: Draining, hold: Hold, context: EndContext): Step {
  const cooldownMs = state.stepDown.cooldownMs + context.config.timing.leaseDurationMs
  const observation = observationOf(hold.lease, hold, context.at)
  return endTerm({ ...state, cooldownMs }, { outcome: 'left', observation, ...context })
}
