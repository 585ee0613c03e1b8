import type { ProcessLife } from './process-life.ts'

/**
 * One term as the simulator sees it, independent of what Tenure tracks: what runs in it, and what still waits.
 */
export class TermLife {
  readonly process: ProcessLife
  readonly lease: string
  readonly epoch: bigint
  /** Whether the candidacy has said that the term is over. */
  isOver = false
  readonly #versionsSeen = new Map<string, number>()
  readonly #tasks = new Map<string, number>()
  readonly #waits = new Map<string, number>()

  constructor(process: ProcessLife, lease: string, epoch: bigint) {
    this.process = process
    this.lease = lease
    this.epoch = epoch
  }

  get name(): string {
    return `term ${this.epoch} of ${this.process.identity}`
  }

  /** Whether a task of the term runs. */
  get hasTasks(): boolean {
    return this.#tasks.size > 0
  }

  /** The names of the tasks that run. */
  get tasks(): readonly string[] {
    return [...this.#tasks.keys()]
  }

  /** What was begun in the term and has not ended: tasks, timers, requests. */
  get remains(): readonly string[] {
    return [...this.tasks.map((name) => `task ${name}`), ...this.#waits.keys()]
  }

  /** The newest version of a key that code of the term has read or written. */
  versionSeen(key: string): number | undefined {
    return this.#versionsSeen.get(key)
  }

  sawVersion(key: string, version: number): void {
    this.#versionsSeen.set(key, Math.max(version, this.#versionsSeen.get(key) ?? 0))
  }

  taskBegan(name: string): void {
    count(this.#tasks, name, 1)
  }

  taskEnded(name: string): void {
    count(this.#tasks, name, -1)
  }

  waitBegan(name: string): void {
    count(this.#waits, name, 1)
  }

  waitEnded(name: string): void {
    count(this.#waits, name, -1)
  }
}

function count(counts: Map<string, number>, name: string, change: number): void {
  const next = (counts.get(name) ?? 0) + change
  if (next === 0) counts.delete(name)
  else counts.set(name, next)
}
