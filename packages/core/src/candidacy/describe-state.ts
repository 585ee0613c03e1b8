import type { ElectorState } from '../election/machine/state.ts'
import type { CandidacyState } from './events.ts'
import type { TermRun } from './term-run.ts'

/** What a candidacy does in terms of its users, given what its elector and its term do. */
export function describeState(state: ElectorState, run: TermRun | undefined): CandidacyState {
  switch (state.kind) {
    case 'idle':
    case 'acquiring':
    case 'stopped':
      return { kind: state.kind }
    case 'reserving':
      return { kind: 'acquiring' }
    case 'following':
      return { kind: 'following', observedLeader: state.memory.observedLeader }
    case 'leading':
      return { kind: 'leading', epoch: state.epoch }
    case 'draining':
    case 'aborting':
      if (run?.wedged !== undefined) return { kind: 'wedged', epoch: state.epoch, tasks: run.wedged.tasks }
      return { kind: 'draining', epoch: state.epoch, reason: run?.endReason ?? 'step-down' }
    case 'releasing':
      return { kind: 'releasing', epoch: state.epoch }
    default:
      return state satisfies never
  }
}

/** Whether two states say the same. */
export function isSameState(a: CandidacyState, b: CandidacyState): boolean {
  const [before, after] = [Object.entries(a), new Map<string, unknown>(Object.entries(b))]
  return before.length === after.size && before.every(([key, value]) => after.get(key) === value)
}
