import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { monotonicMs } from '../monotonic-clock.ts'
import type { ReplicaCommand, ReplicaReport } from '../replica/messages.ts'

const PROGRAM = fileURLToPath(new URL('../replica.ts', import.meta.url))
const LOG_TAIL_CHARS = 2000

/** How a process ended. */
export interface ReplicaExit {
  readonly at: number
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** Who listens to a {@link ReplicaProcess}. */
export interface ReplicaListener {
  readonly reported: (replica: ReplicaProcess, report: ReplicaReport) => void
  readonly exited: (replica: ReplicaProcess, exit: ReplicaExit) => void
}

/**
 * One process of a replica. Owns the process: it ends, at the latest, when this process does, because the IPC channel closes.
 */
export class ReplicaProcess {
  readonly name: string
  readonly pid: number
  /** Resolves when the process is gone. */
  readonly exit: Promise<ReplicaExit>
  /** What it said last about what it is doing. */
  state: Extract<ReplicaReport, { kind: 'state' }>['state'] | 'starting' | 'gone' = 'starting'
  /** How it ended; undefined while it runs. */
  ended: ReplicaExit | undefined
  /** Whether its end is part of the plan. */
  isLeaving = false
  readonly #child: ChildProcess
  #log = ''

  private constructor(name: string, child: ChildProcess, listener: ReplicaListener) {
    this.name = name
    this.#child = child
    this.pid = child.pid ?? 0
    const { promise, resolve } = Promise.withResolvers<ReplicaExit>()
    this.exit = promise
    child.on('message', (message) => {
      // Both ends of the channel are this program.
      const report = message as ReplicaReport
      if (report.kind === 'state') this.state = report.state
      listener.reported(this, report)
    })
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (text: Buffer) => (this.#log = (this.#log + text.toString()).slice(-LOG_TAIL_CHARS)))
    }
    child.once('exit', (code, signal) => {
      this.state = 'gone'
      this.ended = { at: monotonicMs(), code, signal }
      listener.exited(this, this.ended)
      resolve(this.ended)
    })
  }

  /** Starts a process. It does nothing before it gets the message to stand. */
  static start(name: string, listener: ReplicaListener): ReplicaProcess {
    const child = fork(PROGRAM, [], {
      execArgv: ['--conditions=@tenure/source', '--expose-gc'],
      env: { ...withoutSettings(process.env), POD_NAME: name },
      serialization: 'advanced',
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    return new ReplicaProcess(name, child, listener)
  }

  /** The end of what it logged. */
  get log(): string {
    return this.#log
  }

  /** Sends a command. Does nothing when the process is ending. */
  send(command: ReplicaCommand): void {
    if (this.#child.connected) this.#child.send(command, () => {})
  }

  /** Sends a signal to this very process. */
  kill(signal: NodeJS.Signals): void {
    this.isLeaving = true
    this.#child.kill(signal)
  }
}

/** The replicas ignore the settings in the environment of the demo, except where to write their traces. */
function withoutSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const isSetting = (key: string) => key.startsWith('TENURE_') && key !== 'TENURE_TRACE'
  return Object.fromEntries(Object.entries(env).filter(([key]) => !isSetting(key)))
}
