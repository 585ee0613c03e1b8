import { jittered, onAbort, textOf } from '@tenure/core/internal'
import { durationText } from '../status/duration.ts'
import { pause, type Terminal } from '../terminal.ts'
import type { ReplicaProcess } from './replica-process.ts'

/** How long a replica must run so that its next end counts as the first. */
const STEADY_MS = 10_000

const SHORTEST_BACKOFF_MS = 500
const LONGEST_BACKOFF_MS = 30_000

/** How often to look whether a process has ended, first and later. */
const SHORTEST_PAUSE_MS = 5
const LONGEST_PAUSE_MS = 50

/** What a replica does. */
export type ReplicaState = 'running' | 'paused' | 'stopping' | 'waiting' | 'stopped'

/** Options of a {@link Replica}. */
export interface ReplicaOptions {
  readonly name: string
  /** Starts the program. */
  readonly launch: () => Promise<ReplicaProcess>
  /** Says what happened to the replica. */
  readonly say: (text: string) => void
  /** How long the program may take to end after SIGTERM. */
  readonly stopTimeoutMs: number
  readonly terminal: Pick<Terminal, 'clock' | 'random'>
  /** Called when the state has changed. */
  readonly onChange: () => void
}

/**
 * One replica of a program: starts it, and starts it again when it ends, until {@link stop}.
 *
 * 1. Nothing of the last process is left when the next one starts, and when `stop()` resolves.
 * 2. A pause before a restart doubles with each end, up to 30 s. It begins again when the program has run for 10 s.
 */
export class Replica {
  readonly name: string
  readonly #options: ReplicaOptions
  readonly #stopping = new AbortController()
  #state: ReplicaState = 'waiting'
  #process: ReplicaProcess | undefined
  #ends = 0
  /** Resolves when nothing of the present process is left. */
  #ending: Promise<void> | undefined
  #wake: () => void = () => {}
  /** Called when the next process runs. */
  #onStart: (() => void)[] = []
  #isRestart = false
  readonly #over: Promise<void>

  constructor(options: ReplicaOptions) {
    this.name = options.name
    this.#options = options
    this.#over = this.#run()
  }

  get state(): ReplicaState {
    return this.#state
  }

  get pid(): number | undefined {
    return this.#process?.pid
  }

  /** Kills every process of the replica. It starts again after a pause. */
  kill(): void {
    if (this.#process === undefined) return
    this.#options.say('is killed')
    this.#process.signal('SIGKILL')
  }

  /** Pauses every process of the replica, or lets them continue. */
  togglePause(): void {
    if (this.#process === undefined || this.#state === 'stopping') return
    const isPaused = this.#state === 'paused'
    this.#process.signal(isPaused ? 'SIGCONT' : 'SIGSTOP')
    this.#options.say(isPaused ? 'continues' : 'is paused')
    this.#become(isPaused ? 'running' : 'paused')
  }

  /** Stops the program and starts it again without a pause. Resolves when it runs, or the replica stops. */
  async restart(): Promise<void> {
    if (this.#stopping.signal.aborted) return
    const started = Promise.withResolvers<void>()
    this.#onStart.push(started.resolve)
    this.#isRestart = true
    await this.#end()
    await started.promise
  }

  /** Ends the program. Resolves when nothing of it is left. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#end()
    await this.#over
  }

  /** Kills what `stop()` waits for. */
  hurry(): void {
    this.#process?.signal('SIGKILL')
  }

  async #run(): Promise<void> {
    const { terminal, say } = this.#options
    const { signal } = this.#stopping
    while (!signal.aborted) {
      const since = terminal.clock.now()
      const how = await this.#runOnce()
      if (signal.aborted) break
      if (this.#isRestart) continue
      this.#ends = terminal.clock.now() - since >= STEADY_MS ? 1 : this.#ends + 1
      const pauseMs = jittered(
        Math.min(SHORTEST_BACKOFF_MS * 2 ** (this.#ends - 1), LONGEST_BACKOFF_MS),
        terminal.random(),
      )
      say(`${how}; starts again in ${durationText(pauseMs)}`)
      await this.#waitFor(pauseMs)
    }
    this.#become('stopped')
    this.#started()
  }

  /** Runs the program until nothing of it is left. Returns how it ended. */
  async #runOnce(): Promise<string> {
    const { launch } = this.#options
    this.#isRestart = false
    const process = await launch().catch((error: unknown) => textOf(error))
    if (typeof process === 'string') {
      this.#started()
      return `could not be started: ${process}`
    }
    this.#process = process
    this.#become('running')
    this.#started()
    // A stop may have come while the program was prepared.
    if (this.#stopping.signal.aborted) void this.#end()
    const how = await process.ended
    await this.#end()
    await process.close()
    this.#process = undefined
    this.#ending = undefined
    this.#become('waiting')
    return how
  }

  /** A restart or a stop ends the pause. */
  async #waitFor(pauseMs: number): Promise<void> {
    const early = new AbortController()
    const forget = onAbort(this.#stopping.signal, () => early.abort())
    this.#wake = () => early.abort()
    await pause(this.#options.terminal, pauseMs, early.signal)
    this.#wake = () => {}
    forget()
  }

  /** Ends every process of the present start: SIGTERM, and SIGKILL in time. */
  #end(): Promise<void> {
    const process = this.#process
    if (process === undefined) this.#wake()
    else this.#ending ??= this.#terminate(process)
    return this.#ending ?? Promise.resolve()
  }

  async #terminate(process: ReplicaProcess): Promise<void> {
    const { terminal, stopTimeoutMs, say } = this.#options
    if (!process.isLeft()) return
    const wasPaused = this.#state === 'paused'
    this.#become('stopping')
    process.signal('SIGTERM')
    if (wasPaused) process.signal('SIGCONT')
    const deadline = terminal.clock.now() + stopTimeoutMs
    const never = new AbortController().signal
    let isKilled = false
    for (let pauseMs = SHORTEST_PAUSE_MS; process.isLeft(); pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      await pause(terminal, pauseMs, never)
      if (terminal.clock.now() < deadline || !process.isLeft()) continue
      if (!isKilled) say(`did not end within ${durationText(stopTimeoutMs)} of SIGTERM, and is killed`)
      isKilled = true
      process.signal('SIGKILL')
    }
  }

  #started(): void {
    const listeners = this.#onStart
    this.#onStart = []
    for (const listener of listeners) listener()
  }

  #become(state: ReplicaState): void {
    this.#state = state
    this.#options.onChange()
  }
}
