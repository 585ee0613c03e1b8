import { TenureError } from '../tenure-error.ts'
import { describeTasks } from '../term/describe-tasks.ts'
import type { LiveTask } from '../term/task-scope.ts'

/** A drain did not end in time. The lease was not released. */
export class WedgedError extends TenureError {
  override readonly code = 'WEDGED'
  /** The tasks that are still running. */
  readonly tasks: readonly LiveTask[]

  /** @param work the work that did not end, as the beginning of a sentence */
  constructor(work: string, tasks: readonly LiveTask[]) {
    super(`${work} did not drain in time; still running: ${describeTasks(tasks)}`)
    this.tasks = tasks
  }
}

/** The lease was lost while the gate `GracefulLeaderTransition` is off. */
export class LeadershipLostError extends TenureError {
  override readonly code = 'LEADERSHIP_LOST'
}
