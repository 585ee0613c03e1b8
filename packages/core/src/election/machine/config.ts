import type { ResolvedTimingOptions } from '../timing-options.ts'
import { DEFAULT_CLEANUP_TIMEOUT_MS } from '../timing-options.ts'
import type { CleanupBudget } from '../../drain/machine.ts'
import type { Instant } from './event.ts'

/**
 * What to do about a drain that did not end in time.
 *
 * - `exit`: end the process before anybody else may lead.
 * - `hold`: after a voluntary end, keep renewing so that nobody else leads, and stay unhealthy. An involuntary one exits.
 * - `abandon`: go on. **Unsafe**: the tasks that are left run beside the next leader's; only server-side fences help.
 */
export type WedgedPolicy = 'exit' | 'hold' | 'abandon'

/** The settings of an elector. */
export interface ElectorConfig {
  /** Unique to this replica and this start of its process. */
  readonly identity: string
  readonly timing: ResolvedTimingOptions
  /** Whether a lease is freed when a term has ended voluntarily; otherwise it is left to expire. */
  readonly releaseOnExit: boolean
  /**
   * What a replica does that starts and finds no lease: `create` it and act at once, or create it and `wait` for a lease duration,
   * in case somebody deleted it under a leader who cannot see that yet.
   */
  readonly missingLease: 'create' | 'wait'
  /** What this replica runs, such as the hash of its Pod's template. Replicas of the newest revision lead first. */
  readonly revision?: string | undefined
  /** Whether a leader hands over as soon as a standby of a newer revision is there, instead of when it is stopped. */
  readonly isEager?: boolean
  /**
   * How long this replica follows one term before it puts itself on the list of standbys; `Infinity`: it never does. The exhaustive
   * search does not wait, so that it gets there. @default a random time below one second, most often close to it
   */
  readonly announceAfterMs?: number | undefined
  /** How long the cleanups of a controller may take. @default 4000 */
  readonly cleanupTimeoutMs?: number
  /** What to do about a drain that did not end in time. @default 'exit' */
  readonly onWedged?: WedgedPolicy
  /** What the process of this replica is known by to the lock, where that can prove it dead. */
  readonly processRef?: string | undefined
}

/** How long the cleanups of a term may take. Their signal is the business of each controller. */
export function cleanupBudget({ cleanupTimeoutMs = DEFAULT_CLEANUP_TIMEOUT_MS }: ElectorConfig): CleanupBudget {
  return { timeoutMs: cleanupTimeoutMs }
}

/** The moment of an event and the settings of the elector. */
export interface TransitionContext {
  readonly at: Instant
  readonly config: ElectorConfig
}

/**
 * The settings of a replica that may not act yet because of a deleted lease. It does not say where it runs: a proof of its death
 * would say nothing about the leader for whose sake it waits.
 */
export function withoutProcessRef(config: ElectorConfig): ElectorConfig {
  return { ...config, processRef: undefined }
}
