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
  /** How long this replica leaves the lease to others, in milliseconds. @default 2 × 1.2 × `retryPeriodMs` */
  readonly cooldownMs?: number
  /** The identity of the only replica to hand the lease to. @default whichever replica answers while the term drains, if one does */
  readonly to?: string
  /**
   * How long to wait for the answer of `to` once the term is empty, counted from the call, in milliseconds. Then the lease is
   * released, and any replica may acquire it. @default 1.2 × `retryPeriodMs`
   */
  readonly answerTimeoutMs?: number
}

/** Options of {@link Term.spawn}. */
export interface SpawnOptions {
  /** The task continues when the term begins to end. Only `hardSignal` aborts it. @default false */
  readonly finishOnDrain?: boolean
}

/**
 * One unbroken stretch of leadership, as one run of one controller sees it. It owns everything that is started through it: that counts
 * as a task until nothing of it is left, and takes its own listeners and timers with it. The next term cannot begin before all of it
 * is gone.
 */
export interface Term {
  /** The name of the lease, or `always-on` for a controller that needs no leadership. */
  readonly lease: string
  /** The name of the controller. */
  readonly controller: string
  /** The fencing token: grows with every term of this lease. 0 where the controller needs no leadership. */
  readonly epoch: bigint
  /** Writes to the log of the manager. Each line names the lease, the controller and the epoch. */
  readonly logger: Logger
  /** Health checks that are served while the run lasts. Those of a warm-up are served from the beginning of its run. */
  readonly health: HealthRegistry
  /** Aborts when the work is to end: take nothing new. The reason is an error with a `code`. */
  readonly signal: AbortSignal
  /** Aborts when time has run out for work in flight: drop it. */
  readonly hardSignal: AbortSignal
  /** Aborts when no write may be sent any more. Later than `signal`: a voluntary drain may still write. */
  readonly gateSignal: AbortSignal
  /** How many tasks have not settled, `run()` or `warmUp()` itself included. */
  readonly taskCount: number
  /**
   * Starts a tracked task. The promise that is tracked is that of `work`, whatever the caller does with the returned one. When
   * it rejects before `signal` has aborted, the controller has failed.
   * @throws ScopeClosedError once `signal` has aborted.
   */
  spawn<T>(name: string, work: (signal: AbortSignal) => T | Promise<T>, options?: SpawnOptions): Promise<T>
  /**
   * Calls `work` now and then again `intervalMs` after each end of it, until `signal` aborts. Rejects when `work` does, and the
   * controller has failed.
   * @throws ScopeClosedError once `signal` has aborted. @throws OptionsError when `intervalMs` is no duration.
   */
  every(intervalMs: number, work: (signal: AbortSignal) => unknown): Promise<void>
  /**
   * Resolves after `delayMs`; rejects with the reason of `signal` when that aborts before. Leaves nothing behind.
   * @throws OptionsError when `delayMs` is not a finite number of at least 0.
   */
  sleep(delayMs: number): Promise<void>
  /**
   * Calls `work` once after `delayMs`, unless `signal` aborts before or the returned function is called. A failure of it fails
   * the controller.
   * @throws ScopeClosedError once `signal` has aborted. @throws OptionsError when `delayMs` is no duration.
   */
  timeout(delayMs: number, work: (signal: AbortSignal) => unknown): () => void
  /**
   * Listens until `signal` aborts or the returned function is called. Every call of the listener is a tracked task: a rejection
   * fails the controller instead of going unseen.
   * @throws ScopeClosedError once `signal` has aborted. @throws OptionsError when `target` is a signal of the term itself, whose
   * listeners would be removed before they are called, or emits nothing.
   */
  listen(target: EventEmitter | EventTarget, event: string | symbol, listener: Listener): () => void
  /**
   * The items of `source`, until `signal` aborts: then the loop over them ends as if there were no more, and the source is closed
   * (`return()` of its iterator; `destroy()` too where it is a stream of Node). Once that is so, it yields nothing.
   */
  iterate<T>(source: AsyncIterable<T>): AsyncIterable<T>
  /**
   * Opens a resource, and closes it among the cleanups. A resource that arrives after `signal` has aborted is closed immediately, and the
   * promise rejects with the reason. A failure to open rejects the promise and does nothing else.
   * @throws ScopeClosedError once `signal` has aborted.
   */
  acquire<T>(
    name: string,
    open: (signal: AbortSignal) => T | Promise<T>,
    close: (resource: T, signal: AbortSignal) => unknown,
  ): Promise<T>
  /** Disposes of the resource among the cleanups. @throws OptionsError when it is no disposable. */
  use<T extends Disposable | AsyncDisposable>(resource: T): T
  /**
   * Starts a child process, and ends it with the work, together with its descendants: `stopSignal` for the child when `signal` aborts,
   * SIGTERM for the descendants that it leaves behind, SIGKILL for all at the hard abort at the latest. The child gets a process group
   * and a session of its own. If this process dies, a guard kills all of them.
   *
   * Tracked until the child has exited, its standard streams have closed and no descendant runs. A child that exits with a code
   * other than 0 before the term begins to end fails the controller. On Linux a descendant is not found when it has left the session and has
   * dropped the variable `_TENURE_TERM`; on macOS when it has left the process group; on Windows never.
   * @throws ScopeClosedError once `signal` has aborted; nothing is started then.
   * @throws OptionsError when an option is wrong, and nothing is started then, or when `start` returns a process that was started
   * before.
   */
  child<C extends ChildProcess>(name: string, start: () => C, options?: ChildOptions): C
  /**
   * Starts a worker thread, and ends it with the work, and then the processes that it has started: SIGTERM when it has exited, SIGKILL
   * at the hard abort. Tracked until it has exited and none of its processes runs. A worker that fails before the term begins to end has
   * failed the controller. Its processes are found on Linux only, by the variable `_TENURE_TERM`, which the worker gets with the
   * environment of this process.
   * @throws ScopeClosedError once `signal` has aborted. @throws OptionsError when `stopMessage` cannot be posted. Nothing is started
   * then.
   */
  worker<W extends Worker>(name: string, start: () => W, options?: WorkerOptions): W
  /**
   * Lets a server of `node:net`, `node:tls`, `node:http` or a relative listen, and resolves when it does. When `signal` aborts it
   * closes, and its connections once they are idle; they have until the hard abort. Tracked until it has closed. Work that a handler
   * goes on with after its answer is not seen: start it by `spawn()`. Rejects when it cannot listen, and leaves the server as it was.
   * @throws ScopeClosedError once `signal` has aborted.
   */
  serve<S extends Server>(name: string, server: S, listen: ListenOptions): Promise<S>
  /**
   * Runs `cleanup` after the last task, last in first out. All cleanups together have a time of their own; the signal that they
   * are given is fresh and aborts when half of it is over.
   * @throws ScopeClosedError when the cleanups have run.
   */
  defer(cleanup: (signal: AbortSignal) => unknown): void
  /** Whether this replica may act at this very moment, by the clock. */
  isHeld(): boolean
  /** Throws a `NotHeldError` unless this replica may act at this very moment, by the clock. */
  assertHeld(): void
  /** Milliseconds until the term would end if it were not renewed; 0 when it is not held. */
  remainingMs(): number
  /** Ends the term voluntarily. Returns at once; `signal` aborts. Does nothing once the term has ended. */
  stepDown(options?: StepDownOptions): void
  /**
   * Reports progress. A controller that was registered with `progressTimeoutMs` and does not report for
   * that long has failed: the term is given up.
   */
  progress(): void
}
