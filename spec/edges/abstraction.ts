import type { ElectorState, Hold, Observation } from '../../packages/core/src/election/machine/state.ts'
import { isOwn } from '../../packages/core/src/election/rules/memory.ts'
import { lastView } from '../../packages/core/src/election/rules/observation.ts'
import { durationMs } from '../../packages/core/src/election/rules/view.ts'
import type { CodeReplica } from './code-replica.ts'
import type { ModelProcess } from './model-state.ts'
import { ticksUntil } from './timing.ts'

/** What a replica knows and does, in the terms of the model. */
export function processOf(replica: CodeReplica): ModelProcess {
  const { elector, tasks, view, inc } = replica
  const { state } = elector
  const now = replica.clock.now()
  const { actNotBefore, highestEpoch } = state.memory
  return {
    mode: modeOf(state),
    view,
    wait: ticksUntil(waitUntil(state), now),
    valid: ticksUntil(validUntil(state), now),
    tasks,
    hold: actNotBefore === undefined ? 0 : ticksUntil(actNotBefore, now),
    nonce: 0,
    nonceLeft: 0,
    nonceUsed: false,
    known: Number(highestEpoch),
    inc,
  }
}

function modeOf(state: ElectorState): ModelProcess['mode'] {
  switch (state.kind) {
    case 'following':
    case 'acquiring':
      return 'follow'
    case 'reserving':
      return 'reserve'
    case 'leading':
      return 'lead'
    case 'draining':
      return state.drain.kind === 'empty' ? 'empty' : 'drain'
    case 'releasing':
      return 'empty'
    case 'aborting':
      return 'ending'
    default:
      throw new Error(`Expected a replica that works, got a replica that is ${state.kind}`)
  }
}

function holdOf(state: ElectorState): Hold | undefined {
  return 'hold' in state ? state.hold : undefined
}

function observationOf(state: ElectorState): Observation | undefined {
  return 'observation' in state ? state.observation : undefined
}

/** The version that the code saw last; undefined if it saw that there is no lease. */
export function viewOf(state: ElectorState): number | undefined {
  const held = holdOf(state)?.lease
  if (held !== undefined) return Number(held.version)
  const view = lastView(observationOf(state) ?? { kind: 'unknown' })
  return view?.kind === 'present' ? Number(view.lease.version) : undefined
}

function validUntil(state: ElectorState): number {
  return state.kind === 'aborting' ? state.validUntil : (holdOf(state)?.validUntil ?? 0)
}

/** Until when a replica that does not hold the lease waits for its holder. */
function waitUntil(state: ElectorState): number {
  const view = lastView(observationOf(state) ?? { kind: 'unknown' })
  if (view === undefined) return 0
  if (view.kind === 'absent') return 0
  const { record } = view.lease
  if (record.holderIdentity === '' || isOwn(state.memory, record)) return view.guardedUntil
  return Math.max(view.guardedUntil, view.changedAt + durationMs(view.lease))
}
