import type { ElectorEffect } from '../machine/effect.ts'
import type { Step } from '../machine/state.ts'

/** The step with these effects before its own. */
export function after(effects: readonly ElectorEffect[], step: Step): Step {
  return { state: step.state, effects: [...effects, ...step.effects] }
}
