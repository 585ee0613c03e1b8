import type { StepDownOptions, Term } from '../term/term.ts'
import type { ControllerFailedError } from './terminal-error.ts'

/** Hears of what happens to one controller. */
export interface SupervisorObserver {
  readonly runBegan: (term: Term) => void
  readonly runOver: (term: Term) => void
  /** A run failed; it is restarted after `restartInMs`, or not at all. */
  readonly failed: (error: unknown, restartInMs: number | undefined) => void
  /** Something failed while the run was ending. Nothing follows from it. */
  readonly failedWhileEnding: (error: unknown, task: string) => void
  /** The controller is beyond repair; others should have the lease for as long as its restarts were counted. */
  readonly gaveUp: (error: ControllerFailedError, cooldownMs: number) => void
  /** Every task of a run or warm-up has settled; its cleanups begin. */
  readonly cleaning: () => void
  /** The cleanups of a run did not end in time. */
  readonly cleanupOverdue: () => void
  readonly stepDown: (options: StepDownOptions) => void
}
