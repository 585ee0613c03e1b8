import type { TransitionContext } from '../machine/config.ts'
import type { TermKey } from '../machine/event.ts'
import type { Reserving, Step } from '../machine/state.ts'
import { withDeadHolder } from '../rules/memory.ts'
import { observationOf, type ObservationContext } from '../rules/observation.ts'
import { isTermOf } from '../rules/term-key.ts'
import { beginTerm } from './acquiring.ts'
import { follow } from './follow.ts'
import { type HoldStep, withEpochChecked } from './hold.ts'

/** Handles a proof of death: if it is of the holder of the deleted lease, this replica need not wait for that holder. */
export function withDeathOfReplaced(state: Reserving, holder: TermKey, { at }: TransitionContext): Reserving {
  const { replaced } = state
  if (replaced === undefined || !isTermOf(replaced.record, holder)) return state
  const { notBefore } = replaced
  const actNotBefore = notBefore > at.now ? notBefore : undefined
  const memory = { ...withDeadHolder(state.memory, holder, at), actNotBefore }
  return { ...state, memory, actAt: notBefore, replaced: undefined }
}

export function reservingStep(state: Reserving, checked: HoldStep, context: ObservationContext): Step {
  const step = withEpochChecked(state.epoch, checked)
  const { at } = context
  if (step.kind === 'lost') {
    const observation = observationOf(step.snapshot, state, context)
    return { state: follow(step.memory, observation, at, { notBefore: at.now }), effects: step.effects }
  }
  const { memory, hold } = step
  const isExpired = at.now >= hold.deadlineAt
  if (at.now < state.actAt || isExpired) return { state: { ...state, memory, hold }, effects: step.effects }
  const { epoch } = state
  const begin = beginTerm(epoch, hold, at.now - state.freeSince)
  return { state: { kind: 'leading', memory, hold, epoch }, effects: [...step.effects, begin] }
}
