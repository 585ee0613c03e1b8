import type { CreateManagerOptions } from 'tenure'

/** One controller of a replica. */
export type ControllerSetup =
  /** Acts at an interval until its term ends; `observed`, with a metric and a health check of its own. */
  | { readonly kind: 'loop'; readonly name?: string; readonly everyMs?: number; readonly observed?: boolean }
  /** Has a piece of work under way that goes on for `drainMs` once the term has begun to end. */
  | { readonly kind: 'slow-drain'; readonly drainMs: number }
  /** Has a task that never ends. */
  | { readonly kind: 'never-ending' }
  /** Takes so much memory when it is built, on the heap and the same again outside of it. */
  | { readonly kind: 'heavy'; readonly megabytes: number }
  /** Keeps memory of every term after the term. */
  | { readonly kind: 'leaky'; readonly kilobytes: number }
  /** Calls the API server again and again, and waits for every answer however long it takes. */
  | { readonly kind: 'caller'; readonly kubeConfigPath: string; readonly namespace: string; readonly lease: string }
  /** Cannot be built. */
  | { readonly kind: 'throwing-factory'; readonly message: string }
  /** Has an empty name. */
  | { readonly kind: 'nameless' }

/** The settings of a replica, as JSON. */
export interface ReplicaSetup {
  readonly options: CreateManagerOptions
  readonly controllers: readonly ControllerSetup[]
  /** Whether a `lifeLock()` keeps the lease. @default false */
  readonly forLife?: boolean
  /**
   * The comparison of a strategy of its own: the replica with the higher attribute `room` leads, it throws, or it prefers the candidates
   * with `room` 1, 2 and 3 in a circle. @default none
   */
  readonly compare?: 'room' | 'throws' | 'circle' | undefined
  /** How far the wall clock of this process is ahead, in milliseconds. @default 0 */
  readonly clockAheadMs?: number | undefined
}

/** The variable that holds a {@link ReplicaSetup}. */
export const SETUP_VARIABLE = 'SCENARIO_REPLICA'
