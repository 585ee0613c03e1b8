import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { OrphanGuard } from './orphan-guard.ts'

/** What to run. */
export interface ServerProcessOptions {
  /** What it is called in messages. */
  readonly name: string
  /** Path of the executable. */
  readonly file: string
  readonly args: readonly string[]
  /** Ends the process when ours has died. */
  readonly guard: OrphanGuard
  /** Called with every line of the standard output. Without it the lines are kept with those of the standard error. */
  readonly onLine?: (line: string) => void
}

/** How a process ended: with a code, or by a signal. */
export interface ProcessExit {
  readonly code: number | null
  readonly signal: ChildProcess['signalCode']
}

const keptLogCharacters = 200_000

/** A child process that is stopped with a deadline, and whose last output is at hand when something goes wrong. */
export class ServerProcess {
  readonly name: string
  /** Fulfils when the process has ended, however it did. */
  readonly exited: Promise<ProcessExit>
  readonly #child: ChildProcessByStdio<null, Readable, Readable>
  #log = ''

  private constructor(options: ServerProcessOptions, child: ChildProcessByStdio<null, Readable, Readable>) {
    this.name = options.name
    this.#child = child
    this.exited = new Promise((resolve) => {
      child.once('close', (code, signal) => {
        options.guard.delete(this.pid)
        resolve({ code, signal })
      })
    })
    const keep = (line: string) => this.#keep(line)
    createInterface(child.stderr).on('line', keep)
    createInterface(child.stdout).on('line', options.onLine ?? keep)
  }

  /**
   * Starts the process.
   *
   * @throws Error when the executable cannot be run.
   */
  static async start(options: ServerProcessOptions): Promise<ServerProcess> {
    // In a session of its own: Ctrl-C in a terminal is for our process, which then stops its children in order.
    const child = spawn(options.file, options.args, { detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    const started = new ServerProcess(options, child)
    await once(child, 'spawn')
    options.guard.add(started.pid)
    return started
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** The end of what the process has printed. */
  get log(): string {
    return this.#log
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /** Stops the process from running until `resume()`: to its peers it has frozen. */
  pause(): void {
    this.signal('SIGSTOP')
  }

  resume(): void {
    this.signal('SIGCONT')
  }

  /** Terminates the process, kills it when it has not ended within `deadlineMs`, and fulfils when it has ended. */
  async stop(deadlineMs = 5_000): Promise<ProcessExit> {
    if (!this.isRunning) return await this.exited
    this.signal('SIGTERM')
    // A paused process would not see the signal.
    this.resume()
    const given = new AbortController()
    const deadline = sleep(deadlineMs, undefined, { signal: given.signal }).then(
      () => this.signal('SIGKILL'),
      () => {},
    )
    const exit = await this.exited
    given.abort()
    await deadline
    return exit
  }

  /** Kills the process, which has no chance to end in order, and fulfils when it is gone. */
  async kill(): Promise<ProcessExit> {
    if (this.isRunning) this.signal('SIGKILL')
    return await this.exited
  }

  #keep(line: string): void {
    this.#log = `${this.#log}${line}\n`.slice(-keptLogCharacters)
  }
}
