import type { Random, ResolvedTimingOptions } from '@tenure/core/internal'
import type { Agenda } from './agenda.ts'
import type { DesiredState } from './desired-state.ts'
import type { Fact } from './fact.ts'
import type { Trace } from './trace.ts'

/** What every part of a run shares: time, random numbers, the agenda, the trace, and the oracles as listeners. */
export interface Run {
  readonly random: Random
  readonly agenda: Agenda
  readonly trace: Trace
  /** The timing of the lease. */
  readonly timing: ResolvedTimingOptions
  /** True time: milliseconds since the run began. */
  readonly now: number
  /** How long the lease may be without a leader, without faults. */
  readonly longestVacancyMs: number
  /** The state that the controllers must reach; undefined if nobody says so. */
  readonly desired: Required<DesiredState> | undefined
  /** Whether no fault is active. */
  readonly isCalm: boolean
  /** Adds a line to the trace. */
  say(subject: string, text: string): void
  /** Tells the oracles what happened. */
  tell(fact: Fact): void
}
