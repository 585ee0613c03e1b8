import { JITTER_FACTOR } from '../../jitter.ts'
import type { TransitionContext } from '../machine/config.ts'
import type { StepDown } from '../machine/event.ts'
import type { Leading, Step } from '../machine/state.ts'
import { after } from '../rules/after.ts'
import { asStandby, newerStandby } from '../rules/standby.ts'
import { abort } from './aborting.ts'
import { drain } from './draining.ts'
import { type HoldStep, withEpochChecked } from './hold.ts'

export function leadingStep(state: Leading, checked: HoldStep, context: TransitionContext): Step {
  const step = withEpochChecked(state.epoch, checked)
  if (step.kind === 'lost') return after(step.effects, abort(state, step, context))
  const next: Leading = { ...state, memory: step.memory, hold: step.hold }
  const stepDown = rolloutStepDown(next, context)
  if (stepDown === undefined) return { state: next, effects: step.effects }
  return after(step.effects, drain(next, { stepDown, afterwards: 'follow' }, context))
}

/** Set when an eager leader sees a standby of a newer revision. */
function rolloutStepDown({ memory, hold }: Leading, { config }: TransitionContext): StepDown | undefined {
  if (config.isEager !== true) return undefined
  const successor = newerStandby(hold.lease.record, asStandby(memory, config))
  if (successor === undefined) return undefined
  const slowestPollMs = JITTER_FACTOR * config.timing.retryPeriodMs
  const times = { cooldownMs: 2 * slowestPollMs, answerTimeoutMs: slowestPollMs }
  return { reason: 'transferred', to: successor.identity, ...times }
}
