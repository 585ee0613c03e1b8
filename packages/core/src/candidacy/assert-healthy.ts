import type { Elector } from '../election/elector.ts'
import type { ElectorState } from '../election/machine/state.ts'
import type { TermRun } from './term-run.ts'
import { describeTasks } from '../term/describe-tasks.ts'

/** @throws an error that says what a restart of the process would mend. */
export function assertHealthy(elector: Elector | undefined, run: TermRun | undefined): void {
  if (run?.wedged !== undefined) throw run.wedged
  elector?.assertAlive()
  if (run !== undefined) assertTasksInTime(run, elector?.state)
}

function assertTasksInTime(run: TermRun, state: ElectorState | undefined): void {
  const tasks = run.liveTasks()
  if (tasks.length === 0) return
  if (!run.leadership.isHeld()) {
    throw new Error(`the lease has expired while these tasks still run: ${describeTasks(tasks)}`)
  }
  // Tasks that were given time to finish had to be aborted, and have not reacted yet.
  if (state?.kind === 'draining' && state.drain.kind === 'aborted') {
    throw new Error(`the drain has not ended in time, still running: ${describeTasks(tasks)}`)
  }
}
