import type { WorkScope } from './work-scope.ts'

/** How to step down. */
export interface StepDownOptions {
  /** How long this replica leaves the lease to others, in milliseconds. @default 2 × 1.2 × `retryPeriodMs` */
  readonly cooldownMs?: number
  /** The identity of the only replica to hand the lease to. @default whichever replica answers while the term drains, if one does */
  readonly to?: string
  /**
   * How long to wait for the answer of `to` once the term is empty, counted from the call, in milliseconds. Then the lease is
   * released, and any replica may acquire it. @default 1.2 × `retryPeriodMs`
   */
  readonly answerTimeoutMs?: number
}

/**
 * One unbroken stretch of leadership, as one run of one controller sees it. Everything that is started through it is owned by
 * it: the next term cannot begin before all of it is gone.
 */
export interface Term extends WorkScope {
  /** The fencing token: grows with every term of this lease. 0 where the controller needs no leadership. */
  readonly epoch: bigint
  /** Whether this replica may act at this very moment, by the clock. */
  isHeld(): boolean
  /** Throws a `NotHeldError` unless this replica may act at this very moment, by the clock. */
  assertHeld(): void
  /** Milliseconds until the term would end if it were not renewed; 0 when it is not held. */
  remainingMs(): number
  /** Ends the term voluntarily. Returns at once; `signal` aborts. Does nothing once the term has ended. */
  stepDown(options?: StepDownOptions): void
  /**
   * Reports progress. A controller that was registered with `progressTimeoutMs` and does not report for
   * that long has failed: the term is given up.
   */
  progress(): void
}
