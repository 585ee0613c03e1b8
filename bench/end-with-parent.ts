import type { ChildProcess } from 'node:child_process'
import process from 'node:process'

let isWatching = false

/** Kills a child process when this process exits, also by a signal. A child that is busy would go on alone. */
export function endWithParent(child: ChildProcess): void {
  if (!isWatching) for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
  isWatching = true
  const kill = (): void => void child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('exit', () => process.off('exit', kill))
}
