/*
 * The watchdog thread. Runs nothing but this: waits, looks at the board, and ends the process when a deadline has passed.
 *
 * It is started from the text in `watchdog-worker-source.ts`: run `scripts/inline-watchdog.ts` after a change here.
 */
import { openSync, writeSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { machineSuspension, SUSPENSION_CHECK_MS } from '../ports/suspension.ts'
import { DeadlineBoard } from './deadline-board.ts'
import type { WatchdogMarker, WatchdogTask } from './watchdog-marker.ts'

/** A wait stands still while the machine is suspended. */
const LONGEST_WAIT_MS = machineSuspension === undefined ? Number.POSITIVE_INFINITY : SUSPENSION_CHECK_MS

const { memory, names, markerFile } = workerData as WatchdogTask
const board = new DeadlineBoard(memory)
// Opened now: when time is up there is none to lose.
const marker = markerFile === undefined ? undefined : openSync(markerFile, 'w', 0o600)
hurry()
// What a thread does that nobody waits for yet.
machineSuspension?.settle()
board.now()
parentPort?.postMessage('watching', [])
watch()

/** On a busy host it matters who runs first. On Linux this is about the calling thread alone; it takes the right to. */
function hurry(): void {
  if (process.platform !== 'linux') return
  try {
    setPriority(constants.priority.PRIORITY_HIGHEST)
  } catch {
    // Then it takes its turn.
  }
}

function watch(): void {
  while (!board.isClosed) {
    const { rings } = board
    const next = board.earliest()
    if (next === undefined) {
      board.wait(rings)
      continue
    }
    const remaining = next.deadline - board.now()
    if (remaining > 0n) board.wait(rings, Math.min(Number(remaining) / 1e6, LONGEST_WAIT_MS))
    else if (board.claim(next.index, next.deadline)) kill(names[next.index] ?? '', -remaining)
  }
}

function kill(name: string, overdue: bigint): void {
  if (marker !== undefined) {
    const text: WatchdogMarker = {
      name,
      pid: process.pid,
      overdueMs: Number(overdue) / 1e6,
      firedAt: new Date().toISOString(),
    }
    try {
      writeSync(marker, JSON.stringify(text))
    } catch {
      // The kill must not fail for want of a place to write.
    }
  }
  process.kill(process.pid, 'SIGKILL')
}
