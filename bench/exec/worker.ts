import { type ChildProcess, spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { join } from 'node:path'
import { replicaEnvironment } from '@tenure/test-control-plane'

/** How long a worker may take to begin. */
const PATIENCE_MS = 60_000

/** The lease of a fleet. */
export interface WorkerLease {
  readonly name: string
  readonly namespace: string
}

/** What to start. */
export interface WorkerStart {
  readonly identity: string
  readonly lease: WorkerLease
  readonly kubeConfigPath: string
}

const CLI = join(import.meta.dirname, '../../packages/cli/dist/main.js')

/** A replica in a process of its own. Its work prints a line as soon as it begins. */
export class Worker {
  readonly identity: string
  readonly #child: ChildProcess
  readonly #changes = new EventEmitter()
  #beganAt: number | undefined
  #stderr = ''

  private constructor(identity: string, argv: readonly string[], kubeConfigPath: string) {
    this.identity = identity
    // The packages as they were built, as users run them.
    this.#child = spawn(process.execPath, argv, {
      env: { ...replicaEnvironment(), KUBECONFIG: kubeConfigPath },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#child.stdout?.once('data', () => {
      this.#beganAt = monotonicMs()
      this.#changes.emit('change')
    })
    this.#child.stderr?.setEncoding('utf8').on('data', (chunk: string) => (this.#stderr += chunk))
    this.#child.once('exit', () => this.#changes.emit('change'))
  }

  /** `tenure exec` with a command whose first output is a line when it begins. */
  static exec({ identity, lease, kubeConfigPath }: WorkerStart, command: readonly string[]): Worker {
    const own = ['--identity', identity, '--lease', lease.name, '--namespace', lease.namespace, '--log-level', 'error']
    return new Worker(identity, [CLI, 'exec', ...own, '--', ...command], kubeConfigPath)
  }

  /** A program that uses the library. */
  static library({ identity, lease, kubeConfigPath }: WorkerStart): Worker {
    const program = join(import.meta.dirname, 'library-replica.ts')
    return new Worker(identity, [program, identity, lease.name, lease.namespace], kubeConfigPath)
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  /** When its work began, on the monotonic clock, in milliseconds. @throws Error when it ends before, or takes longer than a minute. */
  async began(): Promise<number> {
    const signal = AbortSignal.timeout(PATIENCE_MS)
    while (this.#beganAt === undefined) {
      if (this.#hasEnded || signal.aborted)
        throw new Error(`Expected ${this.identity} to begin. It said: ${this.#stderr}`)
      await once(this.#changes, 'change', { signal }).catch(() => {})
    }
    return this.#beganAt
  }

  /** Sends the signal. Returns the time on the monotonic clock, in milliseconds. */
  end(signal: 'SIGTERM' | 'SIGKILL'): number {
    const at = monotonicMs()
    this.#child.kill(signal)
    return at
  }

  async exited(): Promise<void> {
    if (!this.#hasEnded) await once(this.#child, 'exit')
  }

  get #hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }
}

/** The clock that all processes of the machine share, in milliseconds. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
