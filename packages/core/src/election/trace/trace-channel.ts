import type { Channel } from 'node:diagnostics_channel'
import type { ElectorConfig } from '../machine/config.ts'
import type { ElectorEffect } from '../machine/effect.ts'
import type { ElectorEvent, Instant } from '../machine/event.ts'
import type { ElectorState } from '../machine/state.ts'
import type { Clock } from '../../ports/clock.ts'
import { channel } from '../../ports/node-modules.ts'

/** The name of the channel. */
export const TRACE_CHANNEL = 'tenure:trace'

/**
 * The diagnostics channel on which every elector publishes its steps, before it carries out their effects: so a write is in the trace before it is
 * sent. Without subscribers a step costs one comparison. The message is a {@link TraceStep}.
 */
export const traceChannel: Channel = channel(TRACE_CHANNEL)

/** The elector that took a step. The same object in all its steps. */
export interface TracedElector {
  /** The lock, as in `Lock.description`. */
  readonly lock: string
  /** The clock by which it decides. */
  readonly clock: Clock
}

/** One step of an elector: what happened, and what it does about it. */
export interface TraceStep {
  /** Who took the step. */
  readonly elector: TracedElector
  /** The settings at this step. */
  readonly config: ElectorConfig
  /** When, by the clock of the elector. */
  readonly at: Instant
  /** What happened. */
  readonly event: ElectorEvent
  /** What the elector does about it. */
  readonly effects: readonly ElectorEffect[]
  /** The state after the step. */
  readonly state: ElectorState
}
