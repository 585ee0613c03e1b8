import { OptionsError } from '../options/options-error.ts'
import type { Clock, Timer } from '../ports/clock.ts'
import type { Random } from '../ports/random.ts'
import { ControllerTerm } from '../term/controller-term.ts'
import type { Leadership } from '../term/leadership.ts'
import { type LiveTask, ScopeClosedError } from '../term/task-scope.ts'
import type { TermExtension } from '../term/term-extension.ts'
import type { StepDownOptions, Term } from '../term/term.ts'
import type { Controller, ControllerFactory } from './controller.ts'
import { MAX_BACKOFF_MS, type ResolvedRestartOptions } from './restart-options.ts'
import {
  ControllerFailedError,
  ControllerRestartError,
  ControllerReturnedError,
  TerminalError,
} from './terminal-error.ts'

/** What a {@link ControllerSupervisor} is made of. */
export interface SupervisorOptions {
  readonly name: string
  /** Builds a controller that was never used before. */
  readonly build: ControllerFactory
  /** Undefined where the controller needs no leadership. */
  readonly leadership: Leadership | undefined
  readonly lease: string
  readonly clock: Clock
  readonly random: Random
  readonly restart: ResolvedRestartOptions
  /** How long a failed run may take to end before its controller counts as failed for good. */
  readonly restartDrainMs: number
  readonly extensions: readonly TermExtension[]
  readonly observer: SupervisorObserver
}

/** Hears of what happens to one controller. */
export interface SupervisorObserver {
  readonly runBegan: (term: Term) => void
  readonly runOver: (term: Term) => void
  /** A run failed; it is restarted after `restartInMs`, or not at all. */
  readonly failed: (error: unknown, restartInMs: number | undefined) => void
  /** Something failed while the run was ending. Nothing follows from it. */
  readonly failedWhileEnding: (error: unknown, task: string) => void
  readonly gaveUp: (error: ControllerFailedError) => void
  readonly stepDown: (options: StepDownOptions) => void
}

/**
 * Runs one controller for as long as it is told to: restarts it when it fails, within limits, and tells when it is gone.
 *
 * 1. At most one run at a time: the next begins when the last task and cleanup of the one before have ended.
 * 2. `done` resolves when no run is left and none will follow.
 */
export class ControllerSupervisor {
  /** Resolves when nothing of the controller is left. Never rejects. */
  readonly done: Promise<void>
  readonly #options: SupervisorOptions
  readonly #done = Promise.withResolvers<void>()
  readonly #failures: number[] = []
  #first: Controller | undefined
  #run: ControllerTerm | undefined
  #ending: Error | undefined
  #backoff: { readonly timer: Timer; readonly wake: () => void } | undefined

  constructor(options: SupervisorOptions) {
    this.#options = options
    this.done = this.#done.promise
  }

  /** Runs the controller; `first` is the instance for the first run where one was built already. */
  start(first?: Controller): void {
    this.#first = first
    void this.#supervise().finally(() => this.#done.resolve())
  }

  /** The tasks that have not settled. */
  liveTasks(): readonly LiveTask[] {
    return this.#run?.scope.liveTasks() ?? []
  }

  /** Tells the controller to take no new work, and never restarts it again. */
  end(reason: Error): void {
    this.#ending ??= reason
    this.#backoff?.timer.cancel()
    this.#backoff?.wake()
    this.#run?.end(reason)
  }

  /** Tells the controller to drop what is in flight. */
  hardAbort(reason: Error): void {
    this.end(reason)
    this.#run?.hardAbort(reason)
  }

  async #supervise(): Promise<void> {
    while (this.#ending === undefined) {
      const failure = await this.#runOnce()
      if (failure === undefined || this.#ending !== undefined) return
      const backoffMs = this.#nextBackoffMs(failure.error)
      this.#options.observer.failed(failure.error, backoffMs)
      if (backoffMs === undefined) {
        this.#options.observer.gaveUp(new ControllerFailedError(this.#options.name, failure.error))
        return
      }
      await this.#pause(backoffMs)
    }
  }

  /** One run, to the end of its last task and cleanup. Resolves with why it failed, or nothing when it was told to end. */
  async #runOnce(): Promise<Failure | undefined> {
    const failed = Promise.withResolvers<Failure | undefined>()
    const term = this.#createTerm(failed.resolve)
    const detach: (() => void)[] = []
    this.#run = term
    try {
      for (const extension of this.#options.extensions) detach.push(extension.attach(term))
      const controller = this.#build()
      this.#options.observer.runBegan(term)
      term.spawn('run', () => controller.run(term)).catch(() => {})
      const onEnd = () => failed.resolve(undefined)
      if (term.signal.aborted) onEnd()
      else term.signal.addEventListener('abort', onEnd, { once: true })
    } catch (error) {
      failed.resolve({ error })
    }
    const failure = await failed.promise
    const overdue = failure === undefined ? undefined : this.#endFailedRun(term, failure)
    await term.scope.join()
    overdue?.cancel()
    for (const dispose of detach.toReversed()) this.#detach(dispose)
    term.over()
    this.#options.observer.runOver(term)
    this.#run = undefined
    return failure
  }

  /** An extension that fails must not keep the run from ending. */
  #detach(dispose: () => void): void {
    try {
      dispose()
    } catch (error) {
      this.#options.observer.failedWhileEnding(error, 'extension')
    }
  }

  #createTerm(fail: (failure: Failure) => void): ControllerTerm {
    const { name, leadership, lease, clock, observer } = this.#options
    let hasFailed = false
    const term: ControllerTerm = new ControllerTerm({
      controller: name,
      leadership,
      lease,
      clock,
      onTaskFailure: (error, task) => {
        if (!term.signal.aborted && !hasFailed) {
          hasFailed = true
          fail({ error })
        } else if (!isConsequenceOf(error, term.signal)) observer.failedWhileEnding(error, task)
      },
      onIdle: () => {
        hasFailed = true
        fail({ error: new ControllerReturnedError(name) })
      },
      onStepDown: observer.stepDown,
    })
    return term
  }

  /** Ends a run that failed. A run that does not end in time is never restarted, so the controller has failed for good. */
  #endFailedRun(term: ControllerTerm, { error }: Failure): Timer {
    const { name, clock, restartDrainMs, observer } = this.#options
    term.hardAbort(new ControllerRestartError(name, error))
    return clock.setTimer(restartDrainMs, () => {
      if (this.#ending === undefined) observer.gaveUp(new ControllerFailedError(name, error))
    })
  }

  #build(): Controller {
    const first = this.#first
    this.#first = undefined
    return first ?? this.#options.build()
  }

  /** How long to wait before the next run; undefined when there must be none. */
  #nextBackoffMs(error: unknown): number | undefined {
    const { restart, clock, random } = this.#options
    if (error instanceof TerminalError || error instanceof OptionsError) return undefined
    const now = clock.now()
    const recent = this.#failures.filter((time) => now - time < restart.withinMs)
    this.#failures.splice(0, this.#failures.length, ...recent, now)
    if (recent.length >= restart.maxRestarts) return undefined
    return Math.min(restart.backoffMs * 2 ** recent.length, MAX_BACKOFF_MS) * (1 + 0.1 * random())
  }

  async #pause(backoffMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#backoff = { timer: this.#options.clock.setTimer(backoffMs, resolve), wake: resolve }
    await promise
    this.#backoff = undefined
  }
}

interface Failure {
  readonly error: unknown
}

/** Whether an error only says that the work was told to end. */
function isConsequenceOf(error: unknown, { aborted, reason }: AbortSignal): boolean {
  if (!aborted) return false
  if (error === reason || error instanceof ScopeClosedError) return true
  return error instanceof Error && (error.name === 'AbortError' || error.cause === reason)
}
