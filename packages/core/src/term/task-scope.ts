import type { Clock } from '../ports/clock.ts'
import { TenureError } from '../tenure-error.ts'
import { LinkedList, type LinkedListNode } from './linked-list.ts'

/** A task that has not settled. */
export interface LiveTask {
  readonly name: string
  /** The controller that started it. */
  readonly controller: string
  /** Milliseconds since it was started. */
  readonly ageMs: number
  /** Where it was started: `file:line:column`, or `unknown` when no stack was taken. */
  readonly spawnedAt: string
}

/** Work was started in a scope that takes no more. */
export class ScopeClosedError extends TenureError {
  override readonly code = 'SCOPE_CLOSED'

  constructor(task: string, controller: string, options?: ErrorOptions) {
    super(`Task \`${task}\` of controller \`${controller}\` was refused: its term takes no new work`, options)
  }
}

/** What a {@link TaskScope} is made of. */
export interface TaskScopeOptions {
  readonly controller: string
  readonly clock: Clock
  /** Called when a task rejects, once for each. */
  readonly onFailure: (error: unknown, task: string) => void
  /** Called when the last task of an open scope has settled. */
  readonly onIdle?: () => void
}

class Task implements LinkedListNode<Task> {
  previous: Task | undefined
  next: Task | undefined
  readonly name: string
  readonly startedAt: number
  readonly site: Site

  constructor(name: string, startedAt: number, site: Site) {
    this.name = name
    this.startedAt = startedAt
    this.site = site
  }
}

interface Site {
  readonly stack?: string | undefined
}

interface Cleanup {
  readonly run: () => unknown
  readonly site: Site
}

/** Taking a stack costs about a microsecond, so it is taken once for each name, and for no more names than this. */
const MAX_SPAWN_SITES = 1000

/**
 * Knows every promise that was started in it until that promise itself has settled.
 *
 * 1. What is tracked is the promise of the work, not the one that the caller may race or drop.
 * 2. Once closed, a scope takes no new work; once closed and empty, it stays empty.
 * 3. Cleanups run after the last task, last in first out, each to its end before the next begins.
 */
export class TaskScope {
  readonly #options: TaskScopeOptions
  readonly #tasks = new LinkedList<Task>()
  readonly #sites = new Map<string, Site>()
  readonly #cleanups: Cleanup[] = []
  readonly #empty = Promise.withResolvers<void>()
  #closed = false
  #joined: Promise<void> | undefined

  constructor(options: TaskScopeOptions) {
    this.#options = options
  }

  /** How many tasks have not settled. */
  get size(): number {
    return this.#tasks.size
  }

  /** Starts `work` and tracks it. @throws ScopeClosedError when the scope is closed. */
  spawn<T>(name: string, work: () => T | Promise<T>): Promise<T> {
    if (this.#closed) throw new ScopeClosedError(name, this.#options.controller)
    return this.#track(name, work, this.#siteOf(name))
  }

  /** Remembers a cleanup. @throws ScopeClosedError when the cleanups have already run. */
  defer(cleanup: () => unknown): void {
    if (this.#joined !== undefined && this.#tasks.size === 0) {
      throw new ScopeClosedError('cleanup', this.#options.controller)
    }
    const site: Site = {}
    Error.captureStackTrace(site)
    this.#cleanups.push({ run: cleanup, site })
  }

  /** Refuses new work from now on. */
  close(): void {
    this.#closed = true
    if (this.#tasks.size === 0) this.#empty.resolve()
  }

  /** Closes the scope; resolves when every task has settled and every cleanup has run. Never rejects. */
  join(): Promise<void> {
    this.close()
    this.#joined ??= this.#empty.promise.then(() => this.#cleanUp())
    return this.#joined
  }

  /** The tasks that have not settled, oldest first. */
  liveTasks(): readonly LiveTask[] {
    const { clock, controller } = this.#options
    return [...this.#tasks].map(({ name, startedAt, site }) => ({
      name,
      controller,
      ageMs: clock.now() - startedAt,
      spawnedAt: firstFrame(site.stack),
    }))
  }

  #track<T>(name: string, work: () => T | Promise<T>, site: Site): Promise<T> {
    const task = new Task(name, this.#options.clock.now(), site)
    this.#tasks.add(task)
    const promise = promiseOf(work)
    promise.then(
      () => this.#settled(task),
      (error: unknown) => {
        this.#options.onFailure(error, name)
        this.#settled(task)
      },
    )
    return promise
  }

  #settled(task: Task): void {
    this.#tasks.remove(task)
    if (this.#tasks.size > 0) return
    if (this.#closed) this.#empty.resolve()
    else this.#options.onIdle?.()
  }

  async #cleanUp(): Promise<void> {
    for (let cleanup = this.#cleanups.pop(); cleanup !== undefined; cleanup = this.#cleanups.pop()) {
      await this.#track('cleanup', cleanup.run, cleanup.site).catch(() => {})
    }
  }

  #siteOf(name: string): Site {
    const known = this.#sites.get(name)
    if (known !== undefined) return known
    const site: Site = {}
    if (this.#sites.size < MAX_SPAWN_SITES) {
      Error.captureStackTrace(site)
      this.#sites.set(name, site)
    }
    return site
  }
}

/** The promise of the work itself where it returns one. */
function promiseOf<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return Promise.resolve(work())
  } catch (error) {
    return Promise.reject(error)
  }
}

/** The first stack frame outside of this package, as `file:line:column`. */
function firstFrame(stack: string | undefined): string {
  const frames = (stack ?? '').split('\n').slice(1)
  const frame = frames.find((line) => !OWN_FRAME.test(line)) ?? frames[0]
  return frame?.match(/\(?((?:file:|\/|[A-Za-z]:)[^()]+:\d+:\d+)\)?$/)?.[1] ?? 'unknown'
}

/** Frames of this package, of the leak detector that may wrap it, and of Node. */
const OWN_FRAME =
  /[\\/]core[\\/](?:src|dist)[\\/](?:term|controller|candidacy)[\\/]|[\\/]testing[\\/](?:src|dist)[\\/]leaks[\\/]|^\s+at (?:async )?node:/
