import { type DrainEvent, type DrainState, transition } from '../../drain/machine.ts'
import type { ElectorConfig } from '../machine/config.ts'
import type { ElectorEffect } from '../machine/effect.ts'
import type { Aborting, Draining } from '../machine/state.ts'

/** What an event of the drain means for its term. */
interface DrainOutcome {
  readonly drain: DrainState
  readonly effects: readonly ElectorEffect[]
  /** Work is left, and the policy is to go on without it. */
  readonly isAbandoned: boolean
}

/** Gives the drain an event. The policy, and whether the lease is still renewed, decide what follows a wedged drain. */
export function drainOutcome(
  state: Draining | Aborting,
  event: DrainEvent,
  { onWedged = 'exit' }: ElectorConfig,
): DrainOutcome {
  const { state: drain, effects: decided } = transition(state.drain, event)
  const isWedged = decided.includes('wedged')
  const effects: ElectorEffect[] = []
  if (decided.includes('hard-abort')) effects.push({ kind: 'hard-abort' })
  if (isWedged) effects.push({ kind: 'wedged' })
  const isHeld = onWedged === 'hold' && state.kind === 'draining'
  if (drain.kind === 'wedged' && drain !== state.drain && onWedged !== 'abandon' && !isHeld) {
    effects.push({ kind: 'exit' })
  }
  return { drain, effects, isAbandoned: isWedged && onWedged === 'abandon' }
}
