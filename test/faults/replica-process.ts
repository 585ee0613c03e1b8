import { type ChildProcess, fork } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { setPriority } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type ReplicaCommand, type ReplicaReport, type ReplicaSetup, SETUP_VARIABLE } from './replica-setup.ts'
import type { BundledProgram } from '../scenarios/bundle-program.ts'

/** The program of every replica. */
export const REPLICA = join(import.meta.dirname, 'replica.ts')

/** The heap limit of a replica: enough to work, and soon exhausted on purpose. */
const HEAP_MB = 64

/** The niceness of replicas with a lower priority. */
const SLIGHTLY_BELOW_NORMAL = 2

/** An event of a replica, to explain a failure. */
export interface ReplicaEvent {
  /** A wall-clock time. */
  readonly at: number
  readonly text: string
}

/** A replica in another process. */
export class ReplicaProcess {
  readonly identity: string
  readonly exited: Promise<{ readonly at: bigint; readonly code: number | null; readonly signal: string | null }>
  readonly #lifeFile: string
  readonly #child: ChildProcess
  readonly #heard = new EventEmitter()
  #hasStood = false
  #deadline: bigint | undefined
  #metricsPort: number | undefined
  readonly #onEvent: (event: ReplicaEvent) => void

  constructor(program: BundledProgram, setup: ReplicaSetup, onEvent: (event: ReplicaEvent) => void) {
    this.#onEvent = onEvent
    this.identity = setup.identity
    this.#lifeFile = setup.lifeFile
    this.#child = fork(program.file, [], {
      execArgv: [`--max-old-space-size=${HEAP_MB}`],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: {
        PATH: process.env['PATH'],
        NODE_COMPILE_CACHE: program.cacheFolder,
        [SETUP_VARIABLE]: JSON.stringify(setup),
      },
    })
    this.#child.on('message', (report) => this.#record(report as ReplicaReport))
    const { stdout, stderr } = this.#child
    if (stdout !== null) {
      createInterface(stdout).on('line', (line) => this.#record(JSON.parse(line) as ReplicaReport))
    }
    if (stderr !== null) createInterface(stderr).on('line', (line) => this.#note(Date.now(), line))
    this.exited = new Promise((resolve) => {
      this.#child.once('exit', (code, signal) => {
        this.#heard.emit('report')
        this.#note(Date.now(), `exited with ${code ?? signal}`)
        resolve({ at: process.hrtime.bigint(), code, signal })
      })
    })
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** Whether it failed before it competed for the lease. */
  get couldNotStart(): boolean {
    return this.#child.exitCode === 1 && !this.#hasStood
  }

  /** Where it serves its metrics; undefined before it does. */
  get metricsUrl(): string | undefined {
    return this.#metricsPort === undefined ? undefined : `http://127.0.0.1:${this.#metricsPort}/metrics`
  }

  /** Whether it competes for the lease or leads. */
  get isStanding(): boolean {
    return this.isRunning && this.#hasStood
  }

  /** Lowers its priority. */
  makeWay(): void {
    if (this.#child.pid !== undefined) setPriority(this.#child.pid, SLIGHTLY_BELOW_NORMAL)
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /** Sends it a message, unless it has ended. */
  tell(command: ReplicaCommand): void {
    // If it ends in the meantime, its exit shows that.
    if (this.#child.connected) this.#child.send(command, () => {})
  }

  /** The time at which a blocked replica last ran. */
  async lastRan(): Promise<bigint> {
    const bytes = await readFile(this.#lifeFile)
    return bytes.length === 0 ? 0n : bytes.readBigInt64LE(0)
  }

  /**
   * Blocks its event loop. Resolves with the time by which it must be gone, in nanoseconds of `process.hrtime`. Undefined if its term had
   * ended, and then it does not block.
   */
  async block(ms: number): Promise<bigint | undefined> {
    this.#deadline = undefined
    this.tell({ kind: 'block', ms })
    while (this.#deadline === undefined && this.isRunning) await once(this.#heard, 'report')
    return this.#deadline === 0n ? undefined : this.#deadline
  }

  #record(report: ReplicaReport): void {
    if (report.kind === 'event') return this.#note(report.at, report.text)
    if (report.kind === 'metrics') this.#metricsPort = report.port
    else if (report.kind === 'standing') this.#hasStood = true
    else this.#deadline = BigInt(report.deadline)
    this.#heard.emit('report')
  }

  #note(at: number, text: string): void {
    this.#onEvent({ at, text: `${this.identity}: ${text}` })
  }
}
