import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isPidAlive } from './pid-alive.ts'
import type { ApiServer } from '../api-server.ts'
import type { ReplicaExit } from '../replica-process.ts'
import type { Scenario } from '../scenario.ts'

const MAIN = join(import.meta.dirname, '../../../packages/cli/src/main.ts')
const PROGRAMS = join(import.meta.dirname, 'programs')

/** How to start `tenure exec`. */
export interface ExecStart {
  /** @default none */
  readonly flags?: readonly string[]
  /** The command after `--`; a name that ends in `.sh` is a file in `programs/`. */
  readonly command: readonly string[]
  /** Written to its standard input. @default nothing */
  readonly input?: string
  /** A command that starts it, for example as PID 1. @default none */
  readonly wrapper?: readonly string[]
}

/** `tenure exec` in a folder of its own, where its program leaves files. */
export class ExecProcess implements AsyncDisposable {
  readonly folder: string
  readonly exited: Promise<ReplicaExit>
  readonly #child: ChildProcess
  #stdout = ''
  #stderr = ''

  private constructor(folder: string, child: ChildProcess) {
    this.folder = folder
    this.#child = child
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (this.#stdout += chunk))
    child.stderr?.setEncoding('utf8').on('data', (chunk: string) => (this.#stderr += chunk))
    const { promise, resolve } = Promise.withResolvers<ReplicaExit>()
    child.once('exit', (code, signal) => resolve({ code, signal, at: process.hrtime.bigint() }))
    this.exited = promise
  }

  /** Starts it for the lease of the scenario. Its identity is its name. */
  static async start(server: ApiServer, scenario: Scenario, name: string, start: ExecStart): Promise<ExecProcess> {
    const { flags = [], command, input = '', wrapper = [] } = start
    await scenario.grant(name)
    const kubeConfig = await scenario.writeKubeConfig(name, server.kubeConfig(scenario.userOf(name)))
    const folder = await mkdtemp(join(tmpdir(), 'tenure-exec-'))
    const lease = ['--lease', scenario.leaseName, '--namespace', scenario.namespace, '--identity', name]
    const program = command.flatMap((word) => (word.endsWith('.sh') ? ['sh', join(PROGRAMS, word)] : [word]))
    const node = [process.execPath, '--conditions=@tenure/source', MAIN]
    const [file = '', ...argv] = [...wrapper, ...node, 'exec', ...lease, ...flags, '--', ...program]
    const child = spawn(file, argv, {
      cwd: folder,
      env: { PATH: process.env['PATH'], KUBECONFIG: kubeConfig, HOME: folder },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    child.stdin.on('error', () => {})
    child.stdin.end(input)
    return new ExecProcess(folder, child)
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  get stdout(): string {
    return this.#stdout
  }

  get stderr(): string {
    return this.#stderr
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  async terminate(): Promise<ReplicaExit> {
    this.signal('SIGTERM')
    return await this.exited
  }

  /** The lines of a file that the program writes; waits until there are as many. */
  async lines(file: string, atLeast: number): Promise<readonly string[]> {
    for (let waitedMs = 0; ; waitedMs += 10) {
      const text = await readFile(join(this.folder, file), 'utf8').catch(() => '')
      const lines = text.split('\n').slice(0, -1)
      if (lines.length >= atLeast) return lines
      if (waitedMs > 90_000) throw new Error(`Expected ${atLeast} lines in ${file}, got: ${text}\n${this.#stderr}`)
      await sleep(10)
    }
  }

  /** The lines with a pid in the file `pids`: `NAME PID`. */
  async pids(count: number): Promise<readonly number[]> {
    return (await this.lines('pids', count)).map((line) => Number(line.split(' ')[1]))
  }

  /** The processes of the program that run. */
  alive(): readonly number[] {
    const text = readFileSync(join(this.folder, 'pids'), 'utf8')
    return text
      .split('\n')
      .slice(0, -1)
      .map((line) => Number(line.split(' ')[1]))
      .filter(isPidAlive)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.signal('SIGKILL')
    await this.exited
    while (await hasLiving(this)) await sleep(10)
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

async function hasLiving(exec: ExecProcess): Promise<boolean> {
  const text = await readFile(join(exec.folder, 'pids'), 'utf8').catch(() => '')
  return text !== '' && exec.alive().length > 0
}
