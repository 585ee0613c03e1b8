import { AsyncLocalStorage } from 'node:async_hooks'
import { setMaxListeners } from 'node:events'
import { Drain } from '../drain/drain.ts'
import type { Clock } from '../ports/clock.ts'
import { TermEndedError } from '../term-ended-error.ts'
import { CleanupTimeoutError } from './cleanup-timeout-error.ts'
import { firstFrame } from './first-frame.ts'
import { LinkedList, type LinkedListNode } from './linked-list.ts'

/** A task that has not settled. */
export interface LiveTask {
  /** The name that `spawn()` was given. */
  readonly name: string
  /** The controller that started it. */
  readonly controller: string
  /** Milliseconds since it was started. */
  readonly ageMs: number
  /** Where it was started: `file:line:column`, or `unknown` when no stack was taken. */
  readonly spawnedAt: string
  /** What the task waited on last, if that is known. */
  readonly waitsOn: string | undefined
}

/** A task can write here what it waits on. */
export interface TaskNote {
  /** What the task waits on. Undefined while it runs, and when that is unknown. */
  waitsOn: string | undefined
}

/** Work was started after the term had begun to end. */
export class ScopeClosedError extends TermEndedError {
  override readonly code = 'SCOPE_CLOSED'

  constructor(task: string, controller: string, options?: ErrorOptions) {
    super(`Task \`${task}\` of controller \`${controller}\` was refused: its term takes no new work`, options)
  }
}

/** Options of a {@link TaskScope}. */
export interface TaskScopeOptions {
  /** The controller that owns the tasks. */
  readonly controller: string
  /** Measures the age of tasks and the budget of cleanups. */
  readonly clock: Clock
  /** Called once for each task that rejects. */
  readonly onFailure: (error: unknown, task: string) => void
  /** Called when the last task of an open scope has settled. */
  readonly onIdle?: () => void
  /** How long the cleanups may take. Called when they begin. @default unlimited */
  readonly cleanupBudgetMs?: () => number
  /** Called when every task has settled and the cleanups begin. */
  readonly onCleaning?: () => void
  /** Called when the cleanups have not ended within their budget. */
  readonly onCleanupOverdue?: () => void
}

class Task implements LinkedListNode<Task>, TaskNote {
  previous: Task | undefined
  next: Task | undefined
  waitsOn: string | undefined
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
  readonly run: (signal: AbortSignal) => unknown
  readonly site: Site
}

/**
 * The scope that the running code belongs to. Everything that the code starts inherits this object and may outlive the scope. The scope
 * empties the object at its end, so that nothing keeps the scope alive.
 */
interface Membership {
  scope: TaskScope | undefined
}

const memberships = new AsyncLocalStorage<Membership>()

/** The scope whose task runs or started this code; undefined after that scope has ended. */
export function taskScopeOf(): TaskScope | undefined {
  return memberships.getStore()?.scope
}

/** A stack trace costs about a microsecond. It is taken once for each name, and for at most this many names. */
const MAX_SPAWN_SITES = 1000

/**
 * Tracks every promise that was started in it until that promise has settled.
 *
 * 1. It tracks the promise of the work, not the promise that the caller may race or drop.
 * 2. A closed scope takes no new work. A closed scope that is empty stays empty.
 * 3. Cleanups run after the last task, one at a time, last in first out, within one budget.
 */
export class TaskScope {
  readonly #options: TaskScopeOptions
  readonly #tasks = new LinkedList<Task>()
  readonly #sites = new Map<string, Site>()
  readonly #cleanups: Cleanup[] = []
  readonly #empty = Promise.withResolvers<void>()
  readonly #membership: Membership = { scope: this }
  /** The task whose code runs now, if that is known. */
  #current: Task | undefined
  #phase: 'open' | 'closed' | 'cleaning' | 'over' = 'open'
  #joined: Promise<void> | undefined

  constructor(options: TaskScopeOptions) {
    this.#options = options
  }

  /** The controller whose tasks these are. */
  get controller(): string {
    return this.#options.controller
  }

  /** How many tasks have not settled. */
  get size(): number {
    return this.#tasks.size
  }

  /** Whether every task has settled and the cleanups are running. */
  get isCleaning(): boolean {
    return this.#phase === 'cleaning'
  }

  /** Starts `work` and tracks it. @throws ScopeClosedError when the scope is closed. */
  spawn<T>(name: string, work: (task: TaskNote) => T | Promise<T>): Promise<T> {
    if (this.#phase !== 'open') throw new ScopeClosedError(name, this.#options.controller)
    return this.#track(name, work, this.noteSite(name))
  }

  /**
   * Records what the running task waits on. The running task is known up to its first `await`, and from a call of the returned function
   * to the next `await`. Call the returned function right after the wait has ended.
   */
  waits(on: string): () => void {
    const task = this.#current
    if (task === undefined) return () => {}
    task.waitsOn = on
    return () => {
      this.#current = task
      queueMicrotask(() => {
        if (this.#current === task) this.#current = undefined
      })
    }
  }

  /**
   * Runs code of the user so that `taskScopeOf()` returns this scope in it, and in everything that it starts. Needed where code is called
   * from outside of the scope; a task usually inherits its scope. The returned promise is awaited inside, too.
   */
  enter<T>(work: () => T | Promise<T>): Promise<T> {
    return memberships.run(this.#membership, promiseOf<T>, work)
  }

  /** Adds a cleanup. @throws ScopeClosedError when the cleanups have run. */
  defer(cleanup: (signal: AbortSignal) => unknown): void {
    if (this.#phase === 'over') {
      throw new ScopeClosedError('cleanup', this.#options.controller)
    }
    const site: Site = {}
    Error.captureStackTrace(site)
    this.#cleanups.push({ run: cleanup, site })
  }

  /** From now on, refuses new work. */
  close(): void {
    if (this.#phase === 'open') this.#phase = 'closed'
    if (this.#tasks.size === 0) this.#empty.resolve()
  }

  /** Closes the scope. Resolves when every task has settled and every cleanup has run. Never rejects. */
  join(): Promise<void> {
    this.close()
    this.#joined ??= this.#empty.promise.then(() => this.#cleanUp())
    return this.#joined
  }

  /** The tasks that have not settled, oldest first. */
  liveTasks(): readonly LiveTask[] {
    const { clock, controller } = this.#options
    return [...this.#tasks].map(({ name, startedAt, site, waitsOn }) => ({
      name,
      controller,
      ageMs: clock.now() - startedAt,
      spawnedAt: firstFrame(site.stack),
      waitsOn,
    }))
  }

  #track<T>(name: string, work: (task: TaskNote) => T | Promise<T>, site: Site): Promise<T> {
    const task = new Task(name, this.#options.clock.now(), site)
    this.#tasks.add(task)
    const outer = this.#current
    this.#current = task
    const promise = promiseOf(work, task)
    this.#current = outer
    this.#watch(promise, task)
    return promise
  }

  /**
   * Calls the native `then`, because the promise may override its own. A task whose end cannot be observed stays live, so that the lease
   * is not released.
   */
  #watch(promise: Promise<unknown>, task: Task): void {
    const failed = (error: unknown): void => this.#options.onFailure(error, task.name)
    const rejected = (error: unknown): void => {
      try {
        failed(error)
      } finally {
        this.#settled(task)
      }
    }
    try {
      void Promise.prototype.then.call(promise, () => this.#settled(task), rejected)
    } catch (error) {
      queueMicrotask(() => failed(error))
    }
  }

  #settled(task: Task): void {
    this.#tasks.remove(task)
    if (this.#tasks.size > 0) return
    if (this.#phase === 'open') this.#options.onIdle?.()
    else this.#empty.resolve()
  }

  async #cleanUp(): Promise<void> {
    this.#phase = 'cleaning'
    this.#options.onCleaning?.()
    const { signal, end } = this.#limitCleanups()
    for (let cleanup = this.#cleanups.pop(); cleanup !== undefined; cleanup = this.#cleanups.pop()) {
      const { run, site } = cleanup
      await this.#track('cleanup', () => this.enter(() => run(signal)), site).catch(() => {})
    }
    this.#phase = 'over'
    this.#membership.scope = undefined
    end()
  }

  /** Creates the signal of the cleanups. It aborts after half of their time. `end` cancels the timer. */
  #limitCleanups(): { readonly signal: AbortSignal; readonly end: () => void } {
    const { controller, clock, cleanupBudgetMs, onCleanupOverdue } = this.#options
    const aborter = new AbortController()
    const { signal } = aborter
    setMaxListeners(0, signal)
    if (this.#cleanups.length === 0 || cleanupBudgetMs === undefined) return { signal, end: () => {} }
    const timeoutMs = cleanupBudgetMs()
    const drain = new Drain({
      clock,
      onEffect: (effect) => {
        if (effect === 'abort-cleanups') aborter.abort(new CleanupTimeoutError(controller, timeoutMs))
        if (effect === 'wedged') onCleanupOverdue?.()
      },
    })
    const cleanups = { timeoutMs, abortAfterMs: timeoutMs / 2 }
    drain.ask({ voluntary: true, abortAt: Infinity, wedgedAt: Infinity, cleanups })
    drain.cleaning()
    return { signal, end: () => drain.empty() }
  }

  /** Records where the first task of this name was started. */
  noteSite(name: string): Site {
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

/** The promise of the work itself if it returns one. */
function promiseOf<T, A extends unknown[] = []>(work: (...args: A) => T | Promise<T>, ...args: A): Promise<T> {
  try {
    return Promise.resolve(work(...args))
  } catch (error) {
    return Promise.reject(error)
  }
}
