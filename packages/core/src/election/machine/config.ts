import type { ResolvedTimingOptions } from '../timing-options.ts'
import type { Instant } from './event.ts'

/** What a machine is told once and for all. */
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
  /**
   * How long this replica follows one term before it puts itself on the list of standbys. The exhaustive search does not wait, so
   * that it gets there. @default 30 s, or two lease durations where they are longer
   */
  readonly announceAfterMs?: number
  /** What the process of this replica is known by to the lock, where that can prove it dead. */
  readonly processRef?: string | undefined
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
