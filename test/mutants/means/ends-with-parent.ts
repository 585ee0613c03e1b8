import type { ChildProcess } from 'node:child_process'
import process from 'node:process'

/** Kills a child process when this process exits: a defect may keep the child in an endless loop. */
export function endWithParent(child: ChildProcess): void {
  const kill = (): void => void child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('exit', () => process.off('exit', kill))
}
