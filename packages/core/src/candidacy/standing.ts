import { isJoining } from '../election/phases/announcing.ts'
import type { ElectorState } from '../election/machine/state.ts'

/**
 * How far a replica has come with standing for election. `unseen`: it has not seen the lease, not even that it is absent. `joining`: it
 * is about to join the list of standbys, so that a leader that ends now may be succeeded by another replica.
 */
export type Standing = 'unseen' | 'joining' | 'standing'

/** Derived from the state of the elector; undefined before it has started. */
export function standingOf(state: ElectorState | undefined): Standing {
  if (state === undefined || state.kind === 'idle') return 'unseen'
  if (state.kind !== 'following') return 'standing'
  if (state.observation.kind === 'unknown') return 'unseen'
  return isJoining(state) ? 'joining' : 'standing'
}
