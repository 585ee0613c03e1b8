import type { ChildProcess } from 'node:child_process'
import type { EventEmitter } from 'node:events'
import type { ListenOptions, Server } from 'node:net'
import type { Worker } from 'node:worker_threads'
import type { HealthRegistry } from '../health/health-registry.ts'
import type { Logger } from '../ports/logger.ts'
import type { ChildOptions } from './owned/child-process.ts'
import type { Listener } from './owned/listener.ts'
import type { WorkerOptions } from './owned/worker-thread.ts'

/** How to step down. */
export interface StepDownOptions {
  /** How long this replica does not compete for the lease afterwards, in milliseconds. @default 2 × 1.2 × `retryPeriodMs` */
  readonly cooldownMs?: number
  /** The identity of the replica that must get the lease. @default any replica that answers while the term drains */
  readonly to?: string
  /**
   * How long an empty term waits for an answer of `to`, in milliseconds from the call. After that the lease is released, and any replica
   * may acquire it. @default 1.2 × `retryPeriodMs`
   */
  readonly answerTimeoutMs?: number
}

/** Options of {@link Term.spawn}. */
export interface SpawnOptions {
  /** The task continues when the term begins to end. Only `hardSignal` aborts it. @default false */
  readonly finishOnDrain?: boolean
}

/** What an earlier term left to a controller. `JSON.stringify()` writes the epoch as a decimal string. */
export interface Inherited {
  /** The epoch of the term that left it. */
  readonly epoch: bigint
  /** A copy of the value. */
  readonly value: unknown
}

/** How far the terms before have written. `JSON.stringify()` writes the versions as an object. */
export interface Predecessor {
  /**
   * A `resourceVersion` for each collection, such as `deployments.apps/ops` for those of the namespace `ops`, or `nodes`: a cache that shows
   * it shows all that earlier terms wrote there through `gated()`. Empty if the version of a write is not known.
   *
   * `*` stands for the collections without an entry of their own. It is there, and empty, if earlier terms may have written them. Without
   * it they wrote none of them.
   */
  readonly versions: ReadonlyMap<string, string>
}

/**
 * One unbroken stretch of leadership, as one run of one controller sees it. The term owns everything that you start through it, and
 * removes the listeners and timers of it. Each piece of work counts as a task until nothing of it is left. The next term cannot begin
 * before every task has ended.
 */
export interface Term {
  /** The name of the lease, or `always-on` for a controller that needs no leadership. */
  readonly lease: string
  /** The name of the controller. */
  readonly controller: string
  /** The fencing token. It grows with every term of the lease. 0 for a controller that needs no leadership. */
  readonly epoch: bigint
  /**
   * What an earlier term left to the controller of this name with `bequeath()`, and the epoch of that term. A term that crashes, or does
   * not call `bequeath()`, leaves the earlier value in place: compare the epochs. Undefined if no term left anything, the lease was
   * deleted, or the controller needs no leadership.
   */
  readonly inherited: Inherited | undefined
  /**
   * How far the terms before have written. Undefined if nothing about it is known: the process of the term immediately before died, or a
   * client other than Tenure led.
   */
  readonly predecessor: Predecessor | undefined
  /** The logger of the manager, with the lease, the controller and the epoch in every line. */
  readonly logger: Logger
  /** The health checks of this run. They are served while the run lasts; the checks of a warm-up, from the start of its run. */
  readonly health: HealthRegistry
  /** Aborts when the term begins to end: take no new work. The reason is an error with a `code`. */
  readonly signal: AbortSignal
  /** Aborts when the time for work in flight is up: drop it. */
  readonly hardSignal: AbortSignal
  /**
   * Aborts when the write gate closes: send no more writes. After a voluntary end this is later than `signal`, because a drain may still
   * write.
   */
  readonly gateSignal: AbortSignal
  /** The number of tasks that have not settled, including `run()` or `warmUp()` itself. */
  readonly taskCount: number
  /**
   * Starts a task. The term tracks the promise of `work`, whatever you do with the returned promise. A rejection before `signal` aborts
   * fails the controller.
   * @throws ScopeClosedError once `signal` has aborted.
   */
  spawn<T>(name: string, work: (signal: AbortSignal) => T | Promise<T>, options?: SpawnOptions): Promise<T>
  /**
   * Calls `work` now, and again `intervalMs` after each call has ended, until `signal` aborts. If `work` fails, this rejects and the
   * controller fails.
   * @throws ScopeClosedError once `signal` has aborted. @throws OptionsError when `intervalMs` is not a duration.
   */
  every(intervalMs: number, work: (signal: AbortSignal) => unknown): Promise<void>
  /**
   * Resolves after `delayMs`. Rejects with the reason of `signal` if that aborts first. Leaves no timer and no listener.
   * @throws OptionsError when `delayMs` is not a finite number of at least 0.
   */
  sleep(delayMs: number): Promise<void>
  /**
   * Calls `work` once after `delayMs`, unless `signal` aborts or you call the returned function first. If `work` fails, the controller
   * fails.
   * @throws ScopeClosedError once `signal` has aborted. @throws OptionsError when `delayMs` is not a duration.
   */
  timeout(delayMs: number, work: (signal: AbortSignal) => unknown): () => void
  /**
   * Listens until `signal` aborts or you call the returned function. Every call of the listener is a task: if it fails, the controller
   * fails.
   * @throws ScopeClosedError once `signal` has aborted.
   * @throws OptionsError when `target` cannot emit, or is a signal of the term itself: its listeners would be removed before they are
   * called.
   */
  listen(target: EventEmitter | EventTarget, event: string | symbol, listener: Listener): () => void
  /**
   * Yields the items of `source` until `signal` aborts. Then the loop ends as if there were no more items, and the source is closed with
   * `return()` of its iterator, and `destroy()` for a stream of Node. After `signal` has aborted it yields nothing.
   */
  iterate<T>(source: AsyncIterable<T>): AsyncIterable<T>
  /**
   * Opens a resource and closes it during the cleanups. A resource that arrives after `signal` has aborted is closed immediately, and the
   * promise rejects with the reason. If `open` fails, the promise rejects; the controller does not fail.
   * @throws ScopeClosedError once `signal` has aborted.
   */
  acquire<T>(
    name: string,
    open: (signal: AbortSignal) => T | Promise<T>,
    close: (resource: T, signal: AbortSignal) => unknown,
  ): Promise<T>
  /** Disposes of the resource during the cleanups. @throws OptionsError when it is not disposable. */
  use<T extends Disposable | AsyncDisposable>(resource: T): T
  /**
   * Starts a child process and ends it, with its descendants, at the end of the term. The child gets `stopSignal` when `signal` aborts.
   * Descendants that it leaves behind get SIGTERM. All get SIGKILL at the hard abort at the latest. The child gets its own process group
   * and session. If this process dies, a guard process kills all of them.
   *
   * The task lasts until the child has exited, its standard streams have closed and no descendant runs. A child that exits with a code
   * other than 0 before the term begins to end fails the controller. Tenure cannot find a descendant that has left the session and
   * dropped the variable `_TENURE_TERM` (Linux), or has left the process group (macOS). On Windows it finds no descendants.
   * @throws ScopeClosedError once `signal` has aborted. Nothing is started then.
   * @throws OptionsError when an option is wrong, and nothing is started then, or when `start` returns a process that was started before.
   */
  child<C extends ChildProcess>(name: string, start: () => C, options?: ChildOptions): C
  /**
   * Starts a worker thread and ends it at the end of the term. The processes that it started get SIGTERM when it has exited, and SIGKILL
   * at the hard abort. The task lasts until the worker has exited and none of its processes runs. A worker that fails before the term
   * begins to end fails the controller. Tenure finds the processes of a worker on Linux only, by the variable `_TENURE_TERM`, which the
   * worker inherits from the environment of this process.
   * @throws ScopeClosedError once `signal` has aborted. @throws OptionsError when `stopMessage` cannot be posted. Nothing is started
   * then.
   */
  worker<W extends Worker>(name: string, start: () => W, options?: WorkerOptions): W
  /**
   * Makes a server listen and resolves when it does. Takes servers of `node:net`, `node:tls`, `node:http` and compatible ones. When
   * `signal` aborts, the server stops listening and closes connections as they become idle. At the hard abort it destroys the others. The
   * task lasts until the server has closed. Start work that goes on after the response with `spawn()`, because the term does not track it
   * otherwise. Rejects if the server cannot listen, and leaves it as it was.
   * @throws ScopeClosedError once `signal` has aborted.
   */
  serve<S extends Server>(name: string, server: S, listen: ListenOptions): Promise<S>
  /**
   * Runs `cleanup` after the last task. Cleanups run one at a time, last in first out, and share one time budget. Their signal is a new
   * one and aborts after half of the budget.
   * @throws ScopeClosedError when the cleanups have run.
   */
  defer(cleanup: (signal: AbortSignal) => unknown): void
  /** Whether this replica may act now. Reads the clock. */
  isHeld(): boolean
  /** Checks that this replica may act now. Reads the clock. @throws NotHeldError when it may not. */
  assertHeld(): void
  /** Milliseconds for which this replica may act without a further renewal; 0 if the term is not held. */
  remainingMs(): number
  /**
   * Leaves a value to the next term of the controller of this name, such as a cursor: JSON of at most 4 KB. The last call of a term counts.
   * The write that releases or transfers the lease carries the value. So it adds no write, and a former leader cannot change it. A term
   * that loses its lease leaves nothing. Cleanups may call this.
   * @throws NotHeldError when the controller needs no leadership, or nothing of the term is left.
   * @throws OptionsError when the value is not JSON or too large. An earlier value stays.
   */
  bequeath(value: unknown): void
  /** Ends the term voluntarily. Returns immediately; `signal` aborts. Does nothing after the term has ended. */
  stepDown(options?: StepDownOptions): void
  /**
   * Reports progress. A controller that was registered with `progressTimeoutMs` and does not report within that time is unhealthy and
   * ends the term.
   */
  progress(): void
}
