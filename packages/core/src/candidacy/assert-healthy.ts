import type { Elector } from '../election/elector.ts'
import type { ElectorState } from '../election/machine/state.ts'
import type { TermControllers } from './term-controllers.ts'
import { describeTasks } from '../term/describe-tasks.ts'

/** @throws an error for a problem that a restart of the process would fix. */
export function assertHealthy(elector: Elector | undefined, controllers: TermControllers | undefined): void {
  if (controllers?.wedged !== undefined) throw controllers.wedged
  elector?.assertAlive()
  if (controllers !== undefined) assertTasksInTime(controllers, elector?.state)
}

function assertTasksInTime(controllers: TermControllers, state: ElectorState | undefined): void {
  const tasks = controllers.liveTasks()
  if (tasks.length === 0) return
  if (!controllers.leadership.isHeld()) {
    throw new Error(`the lease has expired while these tasks still run: ${describeTasks(tasks)}`)
  }
  // The tasks did not finish in time, were aborted, and have not reacted yet.
  if (state?.kind === 'draining' && state.drain.kind === 'aborted') {
    throw new Error(`the drain has not ended in time, still running: ${describeTasks(tasks)}`)
  }
}
