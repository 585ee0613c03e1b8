import type { TransitionContext } from '../machine/config.ts'
import type { Leading, Step } from '../machine/state.ts'
import { after } from '../rules/after.ts'
import { abort } from './aborting.ts'
import { type HoldStep, withEpochChecked } from './hold.ts'

export function leadingStep(state: Leading, checked: HoldStep, context: TransitionContext): Step {
  const step = withEpochChecked(state.epoch, checked)
  if (step.kind === 'lost') return after(step.effects, abort(state, step, context))
  return { state: { ...state, memory: step.memory, hold: step.hold }, effects: step.effects }
}
