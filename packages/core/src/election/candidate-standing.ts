import type { ElectorConfig } from './machine/config.ts'
import type { ElectorState, Following } from './machine/state.ts'

/** From when a replica stands for election under a coordinator; `from` is undefined if it does not. */
type Standing = { readonly from: number | undefined } | 'unchanged'

/**
 * Whether this replica stands for election: once it has seen the lease, and not while it cools down or its readiness fails. What a release
 * means for that is the business of the lock.
 */
export function standingIn(state: ElectorState, config: ElectorConfig): Standing {
  if (state.kind === 'releasing') return 'unchanged'
  if (config.neverLeads === true) return { from: undefined }
  if (state.kind === 'following') return { from: mayStand(state, config) ? state.notBefore : undefined }
  return { from: HOLDING.includes(state.kind) ? 0 : undefined }
}

/** In these states this replica is the holder, or is about to be. */
const HOLDING: readonly ElectorState['kind'][] = ['acquiring', 'reserving', 'leading', 'draining']

function mayStand({ leaveBy, observation }: Following, { isUnready }: ElectorConfig): boolean {
  return leaveBy === undefined && observation.kind !== 'unknown' && isUnready !== true
}
