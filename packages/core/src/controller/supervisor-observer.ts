import type { StepDownOptions, Term } from '../term/term.ts'
import type { ControllerFailedError } from './terminal-error.ts'

/** Receives the events of one controller. */
export interface SupervisorObserver {
  readonly runBegan: (term: Term) => void
  readonly runOver: (term: Term) => void
  /** A run failed. The controller restarts after `restartInMs`, or not at all if undefined. */
  readonly failed: (error: unknown, restartInMs: number | undefined) => void
  /** A task or cleanup failed while the run was ending. This does not change how the run ends. */
  readonly failedWhileEnding: (error: unknown, task: string) => void
  /** The controller failed for good. Leave the lease to other replicas for `cooldownMs`. */
  readonly gaveUp: (error: ControllerFailedError, cooldownMs: number) => void
  /** Every task of a run or warm-up has settled, and its cleanups begin. */
  readonly cleaning: () => void
  /** The cleanups of a run did not end in time. */
  readonly cleanupOverdue: () => void
  readonly stepDown: (options: StepDownOptions) => void
}
