import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

/** Something that the replica said. */
export interface Saying {
  readonly kind: string
  readonly what: string
  /** On the monotonic clock of the replica, in nanoseconds. */
  readonly at: string
}

/** How to start a {@link FrozenProcess}. */
export interface FrozenProcessStart {
  /** Where its files go. */
  readonly folder: string
  readonly mode: 'working' | 'blocked'
  readonly name: string
  readonly namespace: string
  readonly kubeConfig: string
}

/** A replica that can be paused, or given the clocks of a machine that was suspended. */
export class FrozenProcess implements AsyncDisposable {
  readonly said: Saying[] = []
  readonly #child: ChildProcess
  readonly #suspendedNsFile: string
  readonly #waiting = new Set<() => void>()
  #stoppedAt = 0n

  private constructor(child: ChildProcess, suspendedNsFile: string) {
    this.#child = child
    this.#suspendedNsFile = suspendedNsFile
    child.on('message', (saying) => {
      this.said.push(saying as Saying)
      for (const look of this.#waiting) look()
    })
    child.once('exit', () => this.#waiting.forEach((look) => look()))
  }

  static async start({ folder, mode, name, namespace, kubeConfig }: FrozenProcessStart): Promise<FrozenProcess> {
    const [library, suspendedNsFile] = [join(folder, `${name}.so`), join(folder, `${name}.ns`)]
    await writeFile(suspendedNsFile, Buffer.alloc(8))
    const source = join(import.meta.dirname, 'suspended-clock.c')
    await promisify(execFile)('cc', ['-shared', '-fPIC', '-O2', '-o', library, source, '-ldl'])
    const program = join(import.meta.dirname, 'replica.ts')
    const child = spawn(process.execPath, ['--conditions=@tenure/source', program, mode, name, namespace], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      env: {
        PATH: process.env['PATH'],
        KUBECONFIG: kubeConfig,
        LD_PRELOAD: library,
        SUSPENDED_NS_FILE: suspendedNsFile,
      },
    })
    return new FrozenProcess(child, suspendedNsFile)
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** Resolves with the signal that ended the process. */
  async killed(): Promise<NodeJS.Signals | null> {
    if (this.isRunning) await once(this.#child, 'exit')
    return this.#child.signalCode
  }

  /** Stops the process; resolves when it stands still. */
  async stop(): Promise<void> {
    this.#child.kill('SIGSTOP')
    while (!/^State:\s+T/m.test(await readFile(`/proc/${this.#child.pid}/status`, 'utf8'))) await sleep(1)
    this.#stoppedAt = process.hrtime.bigint()
  }

  /** Lets it go on, as after a pause of the process, or as after a suspension of its machine. */
  resume(after: 'pause' | 'suspension'): void {
    if (after === 'suspension') {
      const suspended = Buffer.alloc(8)
      suspended.writeBigInt64LE(process.hrtime.bigint() - this.#stoppedAt)
      writeFileSync(this.#suspendedNsFile, suspended, { flag: 'r+' })
    }
    this.#child.kill('SIGCONT')
  }

  /** What it reported since it was stopped, by its own clock, which may have stopped meanwhile. */
  get sinceStop(): readonly Saying[] {
    return this.said.filter(({ at }) => BigInt(at) > this.#stoppedAt)
  }

  /** Waits until it has said something of this kind, `count` times if need be, in what `sayings` selects. */
  async saw(kind: string, { count = 1, sinceStop = false } = {}): Promise<Saying> {
    const found = () => (sinceStop ? this.sinceStop : this.said).filter((saying) => saying.kind === kind)[count - 1]
    const { promise, resolve, reject } = Promise.withResolvers<Saying>()
    const look = (): void => {
      const saying = found()
      if (saying !== undefined) resolve(saying)
      else if (!this.isRunning) reject(new Error(`The replica ended before it said \`${kind}\``))
    }
    this.#waiting.add(look)
    look()
    return promise.finally(() => this.#waiting.delete(look))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.killed()
  }
}
