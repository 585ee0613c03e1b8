import type { LiveTask } from './task-scope.ts'

/** Lists tasks: controller, name, age, where each was started, and what it waited on last if that is known. */
export function describeTasks(tasks: readonly LiveTask[]): string {
  return tasks.map(describeTask).join(', ')
}

function describeTask({ controller, name, ageMs, spawnedAt, waitsOn }: LiveTask): string {
  const wait = waitsOn === undefined ? '' : `, last waited on ${waitsOn}`
  return `${controller}/${name} (${Math.round(ageMs)} ms, started at ${spawnedAt}${wait})`
}
