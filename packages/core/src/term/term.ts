import type { HealthRegistry } from '../health/health-registry.ts'

/** Options of {@link Term.spawn}. */
export interface SpawnOptions {
  /** The task goes on when the term begins to end and is told only by `hardSignal`. @default false */
  readonly finishOnDrain?: boolean
}

/** How to step down. */
export interface StepDownOptions {
  /** How long this replica leaves the lease to others, in milliseconds. @default 2 × 1.2 × `retryPeriodMs` */
  readonly cooldownMs?: number
}

/**
 * One unbroken stretch of leadership, as one run of one controller sees it. Everything that is started through it is owned by
 * it: the next term cannot begin before all of it is gone.
 */
export interface Term {
  /** The fencing token: grows with every term of this lease. 0 where the controller needs no leadership. */
  readonly epoch: bigint
  /** The lease that this term is about, or the name of the manager where the controller needs no leadership. */
  readonly lease: string
  /** The name of the controller. */
  readonly controller: string
  /** Aborts when the term begins to end, or the controller is to restart: take no new work. The reason is an error with a `code`. */
  readonly signal: AbortSignal
  /** Aborts when time has run out for work in flight: drop it. */
  readonly hardSignal: AbortSignal
  /** Aborts when no write of this term may be sent any more. Later than `signal`: a voluntary drain may still write. */
  readonly gateSignal: AbortSignal
  /** How many tasks of this run have not settled, `run()` itself included. */
  readonly taskCount: number
  /** Health checks that are served while this run of the controller lasts. */
  readonly health: HealthRegistry
  /**
   * Starts a tracked task. The promise that is tracked is that of `work`, whatever the caller does with the returned one. When
   * it rejects while the term lasts, the controller has failed.
   * @throws ScopeClosedError once the term has begun to end.
   */
  spawn<T>(name: string, work: (signal: AbortSignal) => T | Promise<T>, options?: SpawnOptions): Promise<T>
  /**
   * Calls `work` now and then again `intervalMs` after each end of it, until the term begins to end. Rejects when `work` does.
   */
  every(intervalMs: number, work: (signal: AbortSignal) => unknown): Promise<void>
  /** Resolves after `delayMs`; rejects with the reason of `signal` when the term begins to end before. Leaves nothing behind. */
  sleep(delayMs: number): Promise<void>
  /** Runs `cleanup` after the last task of this run, last in first out. */
  defer(cleanup: () => unknown): void
  /** Whether this replica may act at this very moment, by the clock. */
  isHeld(): boolean
  /** Throws a `NotHeldError` unless this replica may act at this very moment, by the clock. */
  assertHeld(): void
  /** Milliseconds until the term would end if it were not renewed; 0 when it is not held. */
  remainingMs(): number
  /** Ends the term voluntarily. Returns at once; `signal` aborts. */
  stepDown(options?: StepDownOptions): void
}
