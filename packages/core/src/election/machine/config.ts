import type { ResolvedTimingOptions } from '../timing-options.ts'
import { DEFAULT_CLEANUP_TIMEOUT_MS } from '../timing-options.ts'
import type { CleanupBudget } from '../../drain/machine.ts'
import type { CandidateAttributes, Strategy } from '../rules/strategy.ts'
import type { Coordinator, Departure, PreferredHolder } from '../../lock/lock.ts'
import type { Instant } from './event.ts'

/**
 * What to do about a drain that did not end in time.
 *
 * - `exit`: exit the process before another replica may lead.
 * - `hold`: after a voluntary end, keep renewing so that no other replica leads, and stay unhealthy. After an involuntary end, exit.
 * - `abandon`: continue. **Unsafe**: the remaining tasks run beside the next leader. Only fences on the server help.
 */
export type WedgedPolicy = 'exit' | 'hold' | 'abandon'

/** The settings of an elector. */
export interface ElectorConfig {
  /** Unique to this replica and this start of its process. */
  readonly identity: string
  readonly timing: ResolvedTimingOptions
  /** Whether to release the lease after a voluntary end. Otherwise it expires. */
  readonly releaseOnExit: boolean
  /**
   * What to do if there is no lease at the start. `create`: create it and act immediately. `wait`: create it and wait for one lease
   * duration, because it may have been deleted while a leader was disconnected. Undefined: `wait` if a holder keeps the lease for life,
   * because its end deletes the lease, otherwise `create`.
   */
  readonly missingLease: 'create' | 'wait' | undefined
  /** Whether a holder keeps the lease for life, as the lock says: the lease does not expire. */
  readonly heldForLife?: boolean | undefined
  /** What this replica runs, such as the hash of its Pod's template. Replicas of the newest revision lead first. */
  readonly revision?: string | undefined
  /** Where this replica runs. Of one revision, replicas in the zone of the leader lead first. */
  readonly zone?: string | undefined
  /** How the replicas choose who leads. Undefined: the revision decides. */
  readonly strategy?: Strategy | undefined
  /** What a strategy of its own needs to know of this replica. */
  readonly attributes?: CandidateAttributes | undefined
  /** Whether the warm-ups of this replica are not ready. Then it is not chosen while a warm one lives. */
  readonly isCold?: boolean
  /** Whether a leader hands over as soon as a standby of a newer revision answers, instead of when it is stopped. */
  readonly isEager?: boolean
  /** Whether this replica only follows: it never acquires the lease, and no leader hands over to it. */
  readonly neverLeads?: boolean
  /** Whether the readiness checks of this replica fail. Then it is no standby. */
  readonly isUnready?: boolean
  /** Whether this replica is about to be stopped. Then it is no standby, unless it is the only one, which says so. */
  readonly departure?: Departure['state']
  /** Whether a leader whose place is being stopped hands over to a standby that answers before the order to stop comes. */
  readonly leavesEarly?: boolean
  /**
   * How long this replica follows one term before it puts itself on the list of standbys; `Infinity`: it never does. The exhaustive
   * search does not wait, so that it gets there. @default a random time below one second, most often close to it
   */
  readonly announceAfterMs?: number | undefined
  /** How long the cleanups of a controller may take. @default 4000 */
  readonly cleanupTimeoutMs?: number
  /** What to do about a drain that did not end in time. @default 'exit' */
  readonly onWedged?: WedgedPolicy
  /** Who decides which replica leads: `server`, a coordinator of the lock; `asking`: not known yet. @default 'peers' */
  readonly coordination?: Coordinator['state'] | undefined
  /** The candidate that the coordinator prefers to this replica, which holds the lease. */
  readonly preferred?: PreferredHolder | undefined
  /** Identifies the process of this replica to the lock, if the lock can prove that a process has ended. */
  readonly processRef?: string | undefined
}

/**
 * The settings for a lock whose holders keep the lease for life. Nobody waits for a renewal to be seen, so whole seconds do not count.
 */
export function forLife(config: ElectorConfig): ElectorConfig {
  return { ...config, heldForLife: true, timing: { ...config.timing, wholeSecondPeers: false } }
}

/** How long the cleanups of a term may take. Each controller aborts the signal of its own cleanups. */
export function cleanupBudget({ cleanupTimeoutMs = DEFAULT_CLEANUP_TIMEOUT_MS }: ElectorConfig): CleanupBudget {
  return { timeoutMs: cleanupTimeoutMs }
}

/** The moment of an event and the settings of the elector. */
export interface TransitionContext {
  readonly at: Instant
  readonly config: ElectorConfig
}

/** Whether the replicas decide who leads. */
export function decidesItself({ coordination = 'peers' }: ElectorConfig): boolean {
  return coordination === 'peers'
}

/**
 * The settings of a replica that must not act yet, because the lease was deleted or a coordinator named it. It does not publish its process:
 * a proof of its own death would prove nothing about the former leader for which it waits.
 */
export function withoutProcessRef(config: ElectorConfig): ElectorConfig {
  return { ...config, processRef: undefined }
}
