import { decidesItself, type ElectorConfig } from '../machine/config.ts'
import type { StepDown } from '../machine/event.ts'
import type { Hold, Leading, Step } from '../machine/state.ts'
import { after } from '../rules/after.ts'
import type { ObservationContext } from '../rules/observation.ts'
import { successorOf } from '../rules/records.ts'
import { requestedStepDown } from '../rules/step-down-request.ts'
import { abort } from './aborting.ts'
import { withTimesSeen } from './choosing.ts'
import { drain } from './draining.ts'
import { type HoldStep, holdWakesAt, withEpochChecked } from './hold.ts'
import { answerBy, answeredProposal, withProposal } from './proposing.ts'

export function leadingStep(state: Leading, checked: HoldStep, context: ObservationContext): Step {
  const step = withEpochChecked(state.epoch, checked)
  if (step.kind === 'lost') return after(step.effects, abort(state, step, context))
  const { at, config } = context
  const held = { ...state, memory: step.memory, hold: step.hold }
  const next = withProposal(withTimesSeen(held, at, config), at, config)
  const stepDown = orderOf(step.hold, config) ?? answeredProposal(next, config)
  if (stepDown === undefined) return { state: next, effects: step.effects }
  return after(step.effects, drain(next, { stepDown, afterwards: 'follow' }, context))
}

/**
 * How the lease itself says that this term must end; undefined if it does not. A request that names a replica waits for the answer of that
 * replica, unless this leader cannot offer it the lease.
 */
function orderOf({ lease }: Hold, config: ElectorConfig): StepDown | undefined {
  if (successorOf(lease.record, config) !== undefined) return { reason: 'step-down', cooldownMs: 0 }
  const requested = requestedStepDown(lease.record, config)
  const waits = requested?.to !== undefined && config.releaseOnExit && decidesItself(config)
  return waits ? undefined : requested
}

/** When a leader needs the next `wake` event. */
export function leadingWakesAt(state: Leading): number {
  const { hold, departure } = state
  const departsAt = departure?.isDue === false ? departure.at : Infinity
  return Math.min(holdWakesAt(hold), answerBy(state) ?? Infinity, departsAt)
}
