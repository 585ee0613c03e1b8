import type { ElectorConfig } from '../election/machine/config.ts'
import type { ElectorState } from '../election/machine/state.ts'
import { asStandby, rankOf } from '../election/rules/standby.ts'
import type { CandidatePings, Coordinator } from '../lock/lock.ts'
import { leaseOf } from './lease-notices.ts'
import type { Preemptions } from './strategy-notices.ts'

/** How the leader of a lease with a strategy is chosen, as this replica sees it. */
export interface Choice {
  /** Who chooses: the replicas, or the election controller of the API server. `asking`: it is not known yet, so nobody acquires the lease. */
  readonly decidedBy: Coordinator['state']
  /**
   * The place of this replica among those that the lease shows, 1 for the best. Undefined while it is not known, and while the replicas do
   * not choose.
   */
  readonly rank: number | undefined
  /** How often the election controller asked whether this replica lives. */
  readonly pings: CandidatePings
  /** What came of the better candidates that this replica saw while it led. */
  readonly preemptions: Preemptions
}

/** Reads the choice from the state of an elector; undefined without a strategy. */
export function choiceOf(
  state: ElectorState,
  {
    config,
    pings,
    preemptions,
  }: { config: ElectorConfig; pings: CandidatePings | undefined; preemptions: Preemptions },
): Choice | undefined {
  const { strategy, coordination: decidedBy = 'peers' } = config
  if (strategy === undefined) return undefined
  const lease = decidedBy === 'peers' ? leaseOf(state) : undefined
  const rank = lease && rankOf(lease.record, asStandby(state.memory, config), strategy)
  return { decidedBy, rank, pings: pings ?? { answered: 0, late: 0 }, preemptions }
}
