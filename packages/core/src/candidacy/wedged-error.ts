import { TenureError } from '../tenure-error.ts'
import type { LiveTask } from '../term/task-scope.ts'

/** A drain did not end in time. The lease was not released. */
export class WedgedError extends TenureError {
  override readonly code = 'WEDGED'
  /** What did not end. */
  readonly tasks: readonly LiveTask[]

  constructor(lease: string, epoch: bigint, tasks: readonly LiveTask[]) {
    super(`The term with epoch ${epoch} on \`${lease}\` did not drain in time; still running: ${describeTasks(tasks)}`)
    this.tasks = tasks
  }
}

/** The lease was lost while the gate `GracefulLeaderTransition` is off. */
export class LeadershipLostError extends TenureError {
  override readonly code = 'LEADERSHIP_LOST'
}

/** Names each task with its controller, age, where it was started, and what it waited on last where that is known. */
export function describeTasks(tasks: readonly LiveTask[]): string {
  return tasks.map(describeTask).join(', ')
}

function describeTask({ controller, name, ageMs, spawnedAt, waitsOn }: LiveTask): string {
  const wait = waitsOn === undefined ? '' : `, last waited on ${waitsOn}`
  return `${controller}/${name} (${Math.round(ageMs)} ms, started at ${spawnedAt}${wait})`
}
