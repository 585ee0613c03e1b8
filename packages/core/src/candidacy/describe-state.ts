import type { ElectorState, StateOf } from '../election/machine/state.ts'
import type { CandidacyState } from './events.ts'
import type { TermControllers } from './term-controllers.ts'

/** The public state of a candidacy, from the state of its elector and the controllers of its term. */
export function describeState(state: ElectorState, controllers: TermControllers | undefined): CandidacyState {
  const describe = DESCRIPTIONS[state.kind] as Describe<ElectorState>
  return describe(state, controllers)
}

type Describe<S> = (state: S, controllers: TermControllers | undefined) => CandidacyState

const DESCRIPTIONS: { readonly [K in ElectorState['kind']]: Describe<StateOf<K>> } = {
  idle: () => ({ kind: 'idle' }),
  following: ({ memory }) => ({ kind: 'following', observedLeader: memory.observedLeader }),
  acquiring: () => ({ kind: 'acquiring' }),
  reserving: () => ({ kind: 'acquiring' }),
  leading: ({ epoch }) => ({ kind: 'leading', epoch }),
  draining: describeEnding,
  aborting: describeEnding,
  releasing: ({ epoch }) => ({ kind: 'releasing', epoch }),
  stopped: () => ({ kind: 'stopped' }),
}

function describeEnding(
  { epoch }: StateOf<'draining' | 'aborting'>,
  controllers: TermControllers | undefined,
): CandidacyState {
  if (controllers?.wedged !== undefined) return { kind: 'wedged', epoch, tasks: controllers.wedged.tasks }
  return { kind: 'draining', epoch, reason: controllers?.endReason ?? 'step-down' }
}

/** Whether two states are equal. States of one kind have the same keys, and `kind` is one of these. */
export function isSameState(a: CandidacyState, b: CandidacyState): boolean {
  const after = new Map<string, unknown>(Object.entries(b))
  return Object.entries(a).every(([key, value]) => after.get(key) === value)
}
