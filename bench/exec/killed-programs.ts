import { randomInt } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { monotonicMs, Worker, type WorkerLease } from './worker.ts'

/** What became of the processes of one program. */
export interface Killed {
  /** The processes that ran when `tenure exec` was killed. */
  readonly processes: number
  /** Those that still ran when another replica could have acquired the lease. */
  readonly survivors: number
  /** Milliseconds from the kill until none of them ran. */
  readonly goneMs: number
}

/** Less than the time for which the lease still holds: 15 s, a renewal before the kill. */
const LIMIT_MS = 10_000

/** The longest pause between the first output of the program and the kill: some are killed while they fork. */
const LONGEST_PAUSE_MS = 100

/** Kills `tenure exec` by SIGKILL while its program runs children, and processes that left its session or lost their parents. */
export async function killProgram(lease: WorkerLease, kubeConfigPath: string): Promise<Killed> {
  const identity = `${lease.name}-victim`
  const worker = Worker.exec({ identity, lease, kubeConfigPath }, ['sh', join(import.meta.dirname, 'family.sh')])
  await worker.began()
  await sleep(randomInt(LONGEST_PAUSE_MS))
  const processes = processesOf(identity).length
  const killedAt = worker.end('SIGKILL')
  for (;;) {
    const { length } = processesOf(identity)
    const goneMs = monotonicMs() - killedAt
    if (length === 0 || goneMs > LIMIT_MS) {
      await worker.exited()
      return { processes, survivors: length, goneMs }
    }
    await sleep(2)
  }
}

/** The processes that run with this identity in their environment: the program and what it has started, but not `tenure exec`. */
function processesOf(identity: string): readonly number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.filter((pid) => isOf(pid, identity)).map(Number)
}

function isOf(pid: string, identity: string): boolean {
  try {
    // The environment of a zombie is empty.
    return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`TENURE_IDENTITY=${identity}\0`)
  } catch {
    return false
  }
}
