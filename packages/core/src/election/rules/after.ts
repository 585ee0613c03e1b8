import type { ElectorEffect } from '../machine/effect.ts'
import type { Step } from '../machine/state.ts'

/** A step, with effects of what led to it before its own. */
export function after(effects: readonly ElectorEffect[], step: Step): Step {
  return { state: step.state, effects: [...effects, ...step.effects] }
}
