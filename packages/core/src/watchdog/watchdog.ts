import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { Worker } from 'node:worker_threads'
import type { Clock } from '../ports/clock.ts'
import type { Logger } from '../ports/logger.ts'
import { OptionsError } from '../options/options-error.ts'
import { TenureError } from '../tenure-error.ts'
import { textOf } from '../text-of.ts'
import { DeadlineBoard } from './deadline-board.ts'
import { takeMarker, type WatchdogTask } from './watchdog-marker.ts'
import { WATCHDOG_WORKER_SOURCE } from './watchdog-worker-source.ts'

/** Options of the watchdog. */
export interface WatchdogOptions {
  /**
   * A file on a local disk. The watchdog writes it before it kills the process. The next start reads, logs and removes it. Each replica
   * needs its own file. @default none
   */
  readonly markerFile?: string
}

/** The watchdog thread ended by itself. Nothing would kill a process with a blocked event loop. */
export class WatchdogDiedError extends TenureError {
  override readonly code = 'WATCHDOG_DIED'
}

/** Kills the process unless the deadline is extended in time. */
export interface DeadlineGuard {
  /** Sets the deadline, on the clock of the manager. The process is killed unless this is called again before it. */
  hold(validUntil: number): void
  /** Removes the deadline. */
  lift(): void
}

/** Options of {@link Watchdog.start}. */
export interface WatchdogStart extends WatchdogOptions {
  /** The names of the leases that can be guarded. */
  readonly names: readonly string[]
  readonly clock: Clock
  readonly logger: Logger
  /** Called when the thread ended by itself. */
  readonly onDied: (error: WatchdogDiedError) => void
}

/** The memory limits of the thread. It keeps nothing. */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 4 } as const

/**
 * A thread that kills the process with SIGKILL if the main thread has not confirmed a term by its `validUntil`.
 *
 * A blocked or suspended event loop cannot end its own term. This thread can, because it shares only memory with the event loop. A step
 * of the wall clock has no effect. After a pause of the process, the thread checks the deadline first; after a suspension of the machine,
 * within 100 ms. The main thread may act at the moment of a resumption. The write gate and the fences on the server cover that.
 *
 * 1. A confirmation is one atomic store; nothing is sent to the thread.
 * 2. A lifted guard costs no memory: any number of terms use the same memory.
 * 3. After `stop()` the thread has ended.
 */
export class Watchdog {
  readonly #board: DeadlineBoard
  readonly #worker: Worker
  readonly #options: WatchdogStart
  #isStopping = false

  private constructor(options: WatchdogStart, board: DeadlineBoard, worker: Worker) {
    this.#options = options
    this.#board = board
    this.#worker = worker
    worker.unref()
    worker.on('error', (cause) => this.#onEnd(cause))
    worker.on('exit', () => this.#onEnd())
  }

  /**
   * Starts the thread. Logs whether the watchdog of the previous process killed it.
   * @throws OptionsError (as a rejection) when the host allows no worker threads, or the marker file cannot be written.
   */
  static async start(options: WatchdogStart): Promise<Watchdog> {
    const { markerFile, names, logger } = options
    if (markerFile !== undefined) await reportMarker(markerFile, logger)
    const board = new DeadlineBoard(names.length)
    const worker = createWorker({ memory: board.memory, names, markerFile })
    try {
      await once(worker, 'message')
    } catch (cause) {
      throw new OptionsError(`The watchdog thread could not be started: ${textOf(cause)}`, { cause })
    }
    return new Watchdog(options, board, worker)
  }

  /** The guard of one lease. */
  guard(name: string): DeadlineGuard {
    const index = this.#options.names.indexOf(name)
    const { clock } = this.#options
    const board = this.#board
    return {
      hold(validUntil) {
        // Keep this order: time that passes between the two readings makes the deadline earlier, never later.
        const now = board.now()
        const deadline = now + BigInt(Math.floor((validUntil - clock.now()) * 1e6))
        const before = board.set(index, deadline)
        if (before === 0n || deadline < before) board.ring()
      },
      lift: () => void board.set(index, 0n),
    }
  }

  /** Ends the thread. Resolves when it has ended. */
  async stop(): Promise<void> {
    if (this.#isStopping) return
    this.#isStopping = true
    const { markerFile } = this.#options
    const gone = once(this.#worker, 'exit')
    this.#worker.ref()
    this.#board.close()
    await gone
    if (markerFile !== undefined) await rm(markerFile, { force: true })
  }

  #onEnd(cause?: unknown): void {
    if (this.#isStopping) return
    this.#isStopping = true
    this.#options.onDied(new WatchdogDiedError('The watchdog thread has ended by itself', { cause }))
  }
}

function createWorker(workerData: WatchdogTask): Worker {
  // Not a file beside this one: a bundled program has no such file.
  const program = new URL(`data:text/javascript,${encodeURIComponent(WATCHDOG_WORKER_SOURCE)}`)
  try {
    return new Worker(program, { workerData, execArgv: [], resourceLimits: RESOURCE_LIMITS, name: 'tenure-watchdog' })
  } catch (cause) {
    throw new OptionsError(
      'The option `watchdog` needs a worker thread, which this host does not allow (with `node --permission`, add ' +
        `\`--allow-worker\`): ${textOf(cause)}`,
      { cause },
    )
  }
}

async function reportMarker(file: string, logger: Logger): Promise<void> {
  const marker = await takeMarker(file)
  if (marker === undefined) return
  const { name, overdueMs, pid, firedAt } = marker
  logger.error(
    { event: 'watchdog-fired', lease: name, overdueMs, killedPid: pid, firedAt },
    `the watchdog ended the process before this one: its event loop had not confirmed the lease ${name} in time`,
  )
}
