import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const PROGRAM = join(import.meta.dirname, 'contender.ts')

/** Processes that write one lease, and what each of them says it has won. */
export class Contest implements AsyncDisposable {
  /** Which processes say that they wrote a version. */
  readonly winners = new Map<bigint, string[]>()
  /** Versions that a process may have written. */
  readonly unknown = new Set<bigint>()
  readonly errors: string[] = []
  #kills = 0
  readonly #children = new Map<string, ChildProcess>()
  readonly #path: string
  readonly #kind: 'file' | 'careless'
  #started = 0

  constructor(path: string, kind: 'file' | 'careless') {
    this.#path = path
    this.#kind = kind
  }

  /** How many processes were killed. */
  get kills(): number {
    return this.#kills
  }

  /** How many writes were won. */
  get wins(): number {
    return this.winners.size
  }

  /** The versions that more than one process has won. */
  get wonTwice(): bigint[] {
    return [...this.winners].filter(([, names]) => names.length > 1).map(([version]) => version)
  }

  start(): void {
    const name = `contender-${++this.#started}`
    const child = fork(PROGRAM, [this.#path, this.#kind, name], {
      execArgv: ['--conditions=@tenure/source'],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    this.#children.set(name, child)
    if (child.stdout !== null) createInterface(child.stdout).on('line', (line) => this.#record(name, line))
    child.stderr?.setEncoding('utf8').on('data', (text: string) => this.errors.push(text))
  }

  /** Kills the oldest process, wherever it is in its work, and starts another. */
  async replaceOldest(): Promise<void> {
    const [oldest] = this.#children
    if (oldest !== undefined) await this.#kill(...oldest)
    this.#kills += 1
    this.start()
  }

  /** Resolves when so many writes were won in all. */
  async untilWins(count: number): Promise<void> {
    while (this.wins < count) {
      if (this.errors.length > 0) throw new Error(this.errors.join(''))
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }

  async killAll(): Promise<void> {
    await Promise.all([...this.#children].map(([name, child]) => this.#kill(name, child)))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.killAll()
  }

  async #kill(name: string, child: ChildProcess): Promise<void> {
    this.#children.delete(name)
    child.kill('SIGKILL')
    await once(child, 'close')
  }

  #record(name: string, line: string): void {
    const [outcome, text = ''] = line.split(' ')
    if (!/^\d+$/.test(text)) return
    const version = BigInt(text)
    if (outcome === 'unknown') this.unknown.add(version)
    else this.winners.set(version, [...(this.winners.get(version) ?? []), name])
  }
}
