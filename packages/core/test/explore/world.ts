import type { ElectorConfig } from '../../src/election/machine/config.ts'
import type { ElectorEffect, LeaseWrite } from '../../src/election/machine/effect.ts'
import type { ElectorState } from '../../src/election/machine/state.ts'
import { INITIAL_STATE } from '../../src/election/machine/transition.ts'
import { resolveTimingOptions } from '../../src/election/timing-options.ts'
import type { Coordinator, Departure, LockSnapshot, PreferredHolder } from '../../src/lock/lock.ts'

/** The length of a tick in milliseconds. */
export const TICK_MS = 1000

/** The smallest timing that keeps every relation: four ticks of lease, three of validity, two until the deadline, one of grace. */
export const TIMING = resolveTimingOptions({
  leaseDurationMs: 4000,
  renewDeadlineMs: 2000,
  retryPeriodMs: 1000,
  requestTimeoutMs: 750,
  clockRateTolerance: 0.25,
  drainTimeoutMs: 1000,
  abortGraceMs: 1000,
})

/** The bounds of an exploration. */
export interface Scope {
  readonly replicas: number
  /** The maximum number of faults in one history. */
  readonly faults: number
  /** The maximum number of orders to stop or step down in one history. */
  readonly orders: number
  /** Whether replicas learn that the process of the holder has ended. */
  readonly canProveDeath: boolean
  /**
   * Whether a client may shorten the lease while a replica holds it. Every replica has then seen the term, and none starts later,
   * because a new replica would not know the previous duration.
   * @default false
   */
  readonly canShorten?: boolean
  /**
   * Whether the store may return to an earlier state. `known`: only while every replica knows the term in force and no write is in
   * flight. No replica starts later, and every rule holds. `any`: at any time. S1 and S6 then hold only among terms of one era.
   * @default never
   */
  readonly canRestore?: 'known' | 'any'
  /**
   * Whether there is a coordinator. An order lets it name any replica at any time, and a replica believe that somebody else decides.
   * @default false
   */
  readonly isCoordinated?: boolean
  /**
   * Whether a lock frees a lease of its coordinator as soon as that lease looks expired, with the times of a release. That is a defect.
   * @default false
   */
  readonly freesEarly?: boolean
  /**
   * Whether an order can be a request to step down, in the lease, while a replica holds it.
   * @default false
   */
  readonly canRequest?: boolean
  /** The names of the actions that come before the exploration. They count as faults and orders. @default none */
  readonly opening?: readonly string[]
  /**
   * Whether an order can be the deletion of a replica's place or the drain of its machine, long before it stops, or the end of that drain.
   * Leaders then hand over early.
   * @default false
   */
  readonly canDepart?: boolean
  /** The rate of each replica's clock. */
  readonly rates: readonly number[]
  readonly config: Omit<ElectorConfig, 'identity'>
}

/** A request in flight. */
export interface Request {
  readonly from: number
  readonly identity: string
  readonly request: number
  /** Undefined for a read. */
  readonly write: LeaseWrite | undefined
  readonly sentTick: number
  /** Whether it was sent before a restore of the store. */
  readonly isOld: boolean
  /** Whether it has taken effect and the answer waits for a suspended process. */
  readonly isDone: boolean
  /** Whether no process waits for the answer. A write may still take effect at any time. */
  readonly isGhost: boolean
}

/** One replica: its machine, its tasks, its watch. */
export interface Replica {
  readonly identity: string
  readonly life: number
  readonly isAlive: boolean
  readonly state: ElectorState
  readonly rate: number
  /** Who decides which replica leads, as this replica knows it. */
  readonly decider: Coordinator['state']
  /** The candidate that the lease preferred to this replica, and what it heard of it. */
  readonly preferred: PreferredHolder | undefined
  /** The acquire time of the last record that makes this replica the holder by its own write, or by a transfer; undefined after its term. */
  readonly granted: string | undefined
  /** Whether it is about to be stopped, as it knows. */
  readonly departure: Departure['state']
  /** `running`: tasks run. `ending`: their signals have aborted. `cleaning`: only cleanups are left. */
  readonly tasks: 'none' | 'running' | 'ending' | 'cleaning'
  /** The number of restores before the lease of its term was acquired. */
  readonly era: number
  /** Until when the term may act, on the clock of the replica. */
  readonly validUntil: number
  readonly isPaused: boolean
  /** Whether a pause has ended and the replica has not yet handled its timers. */
  readonly isBehind: boolean
  /** Whether it can neither send nor receive. */
  readonly isCutOff: boolean
  readonly watch: 'up' | 'late' | 'broken'
  /** The states that the watch has not reported yet. */
  readonly unseen: readonly LockSnapshot[]
}

/** The state of everything at one moment. */
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
  /** Whether any process was ever suspended. A suspended process may work beyond its lease. */
  readonly hasPaused: boolean
  /** Whether the coordinator has named the present holder for a lease that had none, and nobody has written it since. */
  readonly isNamedFree: boolean
}

/** The restores of the store. */
interface Restores {
  /** The states to which it may return, oldest first. */
  readonly backups: readonly LockSnapshot[]
  /** The number of restores. */
  readonly era: number
  readonly sinceTick: number
  /** The era of the last term. */
  readonly lastEra: number
  /** Whether a write from before a restore has replaced a record with the same version that it was not based on. */
  readonly isMixed: boolean
}

/** A broken rule. */
export class BrokenRule extends Error {
  readonly rule: string

  constructor(rule: string, message: string) {
    super(message)
    this.rule = rule
  }
}

/** The first world: no replica has started, and there is no lease. */
export function initialWorld({ replicas, faults, orders, rates, isCoordinated }: Scope): World {
  const decider = isCoordinated === true ? 'server' : 'peers'
  return {
    tick: 0,
    replicas: Array.from({ length: replicas }, (_, index) =>
      newProcess({ index, life: 1, rate: rates[index] ?? 1, decider }),
    ),
    lease: { kind: 'absent', version: 0n },
    version: 0n,
    requests: [],
    lastEpoch: 0n,
    restores: { backups: [], era: 0, sinceTick: 0, lastEra: 0, isMixed: false },
    faultsLeft: faults,
    ordersLeft: orders,
    hasPaused: false,
    isNamedFree: false,
  }
}

/** A process whose elector has not started. */
export function newProcess({
  index,
  life,
  rate,
  decider,
}: { readonly index: number } & Pick<Replica, 'life' | 'rate' | 'decider'>): Replica {
  return {
    identity: `r${index}.${life}`,
    life,
    isAlive: true,
    state: INITIAL_STATE,
    rate,
    decider,
    preferred: undefined,
    granted: undefined,
    departure: undefined,
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

/** The clock of a replica. It starts far from zero, so that times differ from other numbers. */
export function clockOf(world: World, replica: Replica): number {
  return CLOCK_AT_START + world.tick * TICK_MS * replica.rate
}

/** A value above every number in a state that is not a time. */
export const CLOCK_AT_START = 1e9

/** Any effect of the machine. */
export type Effect = ElectorEffect
