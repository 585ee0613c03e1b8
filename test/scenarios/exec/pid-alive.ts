import { readFileSync } from 'node:fs'

/** Whether a process runs. A zombie does not: in a container nobody may reap it. */
export function isPidAlive(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')
  } catch {
    return false
  }
}
