import type { ElectorConfig } from '../../src/election/machine/config.ts'
import type { ElectorEffect, LeaseWrite } from '../../src/election/machine/effect.ts'
import type { ElectorState } from '../../src/election/machine/state.ts'
import { INITIAL_STATE } from '../../src/election/machine/transition.ts'
import { resolveTimingOptions } from '../../src/election/timing-options.ts'
import type { LockSnapshot } from '../../src/lock/lock.ts'

/** What time passes by. */
export const TICK_MS = 1000

/** The smallest lease that has room for everything: four ticks of lease, three of validity, two until the deadline, one of grace. */
export const TIMING = resolveTimingOptions({
  leaseDurationMs: 4000,
  renewDeadlineMs: 2000,
  retryPeriodMs: 1000,
  requestTimeoutMs: 750,
  clockRateTolerance: 0.25,
  drainTimeoutMs: 1000,
  abortGraceMs: 1000,
})

/** What is explored. */
export interface Scope {
  readonly replicas: number
  /** How many faults may happen in one history. */
  readonly faults: number
  /** How many orders to stop or step down may be given in one history. */
  readonly orders: number
  /** Whether replicas hear of it when the process of the holder has ended. */
  readonly canProveDeath: boolean
  /**
   * Whether somebody may shorten the lease under its holder. No replica starts after that, and each has seen the
   * term: it would know no other duration.
   * @default false
   */
  readonly canShorten?: boolean
  /**
   * Whether the store may go back to an earlier state. `known`: only while every replica knows the term in force and no write is
   * under way; none starts after that, and every rule holds. `any`: at any time; S1 and S6 then hold within what the store remembers.
   * @default never
   */
  readonly canRestore?: 'known' | 'any'
  /** The rate of each replica's clock. */
  readonly rates: readonly number[]
  readonly config: Omit<ElectorConfig, 'identity'>
}

/** A request that was sent and has not taken effect. */
export interface Request {
  readonly from: number
  readonly identity: string
  readonly request: number
  /** Undefined for a read. */
  readonly write: LeaseWrite | undefined
  readonly sentTick: number
  /** The store went back after it was sent. */
  readonly isOld: boolean
  /** It has taken effect; the answer waits for a process that is suspended. */
  readonly isDone: boolean
  /** Nobody waits for the answer any more; a write may still take effect at any time. */
  readonly isGhost: boolean
}

/** One replica: its machine, its tasks, its watch. */
export interface Replica {
  readonly identity: string
  readonly life: number
  readonly isAlive: boolean
  readonly state: ElectorState
  readonly rate: number
  /** Whether tasks run, whether their signals have aborted, and whether only cleanups are left. */
  readonly tasks: 'none' | 'running' | 'ending' | 'cleaning'
  /** How often the store had gone back when the lease of its term was acquired. */
  readonly era: number
  /** Until when, by its own clock, the term may act. */
  readonly validUntil: number
  readonly isPaused: boolean
  /** Whether it goes on after a pause and has not yet looked at its clock. */
  readonly isBehind: boolean
  /** Whether nothing gets from or to it. */
  readonly isCutOff: boolean
  readonly watch: 'up' | 'late' | 'broken'
  /** What the watch has not reported yet. */
  readonly unseen: readonly LockSnapshot[]
}

/** The whole of it at one moment. */
export interface World {
  readonly tick: number
  readonly replicas: readonly Replica[]
  readonly lease: LockSnapshot
  readonly version: bigint
  readonly requests: readonly Request[]
  readonly lastEpoch: bigint
  readonly restores: Restores
  readonly faultsLeft: number
  readonly ordersLeft: number
  /** Whether some process was ever suspended: it may then work beyond its lease without knowing. */
  readonly hasPaused: boolean
}

/** What became of the store. */
interface Restores {
  /** The states to which it may go back, oldest first. */
  readonly backups: readonly LockSnapshot[]
  /** How often it has gone back. */
  readonly era: number
  readonly sinceTick: number
  /** The era of the last term. */
  readonly lastEra: number
  /** Whether a write from before has replaced a record that it was not based on: its version was used again. */
  readonly isMixed: boolean
}

/** A rule was broken. */
export class BrokenRule extends Error {
  readonly rule: string

  constructor(rule: string, message: string) {
    super(message)
    this.rule = rule
  }
}

/** Every replica about to start, and no lease. */
export function initialWorld({ replicas, faults, orders, rates }: Scope): World {
  return {
    tick: 0,
    replicas: Array.from({ length: replicas }, (_, index) => newProcess(index, 1, rates[index] ?? 1)),
    lease: { kind: 'absent', version: 0n },
    version: 0n,
    requests: [],
    lastEpoch: 0n,
    restores: { backups: [], era: 0, sinceTick: 0, lastEra: 0, isMixed: false },
    faultsLeft: faults,
    ordersLeft: orders,
    hasPaused: false,
  }
}

/** A process that has not started to stand. */
export function newProcess(index: number, life: number, rate: number): Replica {
  return {
    identity: `r${index}.${life}`,
    life,
    isAlive: true,
    state: INITIAL_STATE,
    rate,
    tasks: 'none',
    era: 0,
    validUntil: 0,
    isPaused: false,
    isBehind: false,
    isCutOff: false,
    watch: 'up',
    unseen: [],
  }
}

/** What the clock of a replica shows. Far from zero, so that no time is mistaken for a number of something else. */
export function clockOf(world: World, replica: Replica): number {
  return CLOCK_AT_START + world.tick * TICK_MS * replica.rate
}

/** Greater than any number in a state that is not a time. */
export const CLOCK_AT_START = 1e9

/** An effect that concerns the world, or not. */
export type Effect = ElectorEffect
