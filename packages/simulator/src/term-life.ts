import type { ProcessLife } from './process-life.ts'

/**
 * One term as the simulator observes it, independently of what Tenure tracks: its tasks, timers and requests.
 */
export class TermLife {
  readonly process: ProcessLife
  readonly lease: string
  readonly epoch: bigint
  /** Whether the candidacy has reported that the term begins to end. */
  isEnding = false
  /** Whether the candidacy has reported the end of the term. */
  isOver = false
  /** Whether its code has waited until the cache of the process shows what earlier terms have written. */
  isCacheSynced = false
  /** Notes a version that the term has written, or read instead of an earlier term, as the write gate and informers do. */
  noteVersion: (collection: string, version: string) => void = () => {}
  /** The version of each key that its code has read or written last, also from a cache that is not synced. */
  readonly views: Map<string, number> = new Map()
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

  /** Whether a task of the term is running. */
  get hasTasks(): boolean {
    return this.#tasks.size > 0
  }

  /** The names of the running tasks. */
  get tasks(): readonly string[] {
    return [...this.#tasks.keys()]
  }

  /** Everything that the term started and that has not ended: tasks, timers, requests. */
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
