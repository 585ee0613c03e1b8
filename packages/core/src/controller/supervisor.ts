import { publishRun } from '../candidacy/channels.ts'
import { OptionsError } from '../options/options-error.ts'
import type { Clock, Timer } from '../ports/clock.ts'
import type { Logger } from '../ports/logger.ts'
import type { Random } from '../ports/random.ts'
import { ControllerTerm } from '../term/controller-term.ts'
import type { Leadership } from '../term/leadership.ts'
import { onAbort } from '../term/owned/owner.ts'
import type { LiveTask } from '../term/task-scope.ts'
import type { TermExtension } from '../term/term-extension.ts'
import type { StepDownOptions, Term } from '../term/term.ts'
import type { Controller, ControllerFactory } from './controller.ts'
import { NoProgressError, ProgressWatch } from './progress-watch.ts'
import type { Registration } from './registration.ts'
import { MAX_BACKOFF_MS } from './restart-options.ts'
import {
  ControllerFailedError,
  ControllerRestartError,
  ControllerReturnedError,
  TerminalError,
} from './terminal-error.ts'
import type { WarmRun } from './warm-up.ts'

/** What a {@link ControllerSupervisor} is made of. */
export interface SupervisorOptions extends Pick<Registration, 'restart' | 'progressTimeoutMs' | 'warmUpTimeoutMs'> {
  readonly name: string
  /** Builds a controller that was never used before. */
  readonly build: ControllerFactory
  /** Undefined where the controller needs no leadership. */
  readonly leadership: Leadership | undefined
  readonly lease: string
  readonly clock: Clock
  readonly random: Random
  /** For the lines of the controller. @default a logger that drops every line */
  readonly logger?: Logger
  /** How long a failed run may take to end before its controller counts as failed for good. */
  readonly restartDrainMs: number
  /** For how long the cleanups of a run may run, asked when they begin. */
  readonly cleanupBudgetMs: () => number
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
  /** The controller is beyond repair; others should have the lease for as long as its restarts were counted. */
  readonly gaveUp: (error: ControllerFailedError, cooldownMs: number) => void
  /** The cleanups of a run did not end in time. */
  readonly cleanupOverdue: () => void
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
  #warmRun: WarmRun | undefined
  #run: ControllerTerm | undefined
  #isCleanupOverdue = false
  #ending: Error | undefined
  #backoff: { readonly timer: Timer; readonly wake: () => void } | undefined

  constructor(options: SupervisorOptions) {
    this.#options = options
    this.done = this.#done.promise
  }

  /** Runs the controller; `first` is the instance for the first run where one was built already, `warmRun` how it warmed up. */
  start(first?: Controller, warmRun?: WarmRun): void {
    this.#first = first
    this.#warmRun = warmRun
    void this.#supervise().finally(() => this.#done.resolve())
  }

  /** The tasks that have not settled. */
  liveTasks(): readonly LiveTask[] {
    return [...(this.#run?.scope.liveTasks() ?? []), ...(this.#warmRun?.liveTasks() ?? [])]
  }

  /** Whether only cleanups are left, and they still have time. */
  get isWithinCleanupBudget(): boolean {
    if (this.#isCleanupOverdue) return false
    const tasks = this.#run === undefined || this.#run.scope.isCleaning ? 0 : this.#run.scope.size
    return tasks === 0 && (this.#warmRun?.isCleaning ?? true)
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
    // Asked of the clock, as before all code of the user: the pause before a restart may have outlasted the term.
    while (this.#ending === undefined && (this.#options.leadership?.isHeld() ?? true)) {
      const failure = await this.#runOnce()
      if (failure === undefined || this.#ending !== undefined) return
      const backoffMs = this.#nextBackoffMs(failure.error)
      this.#options.observer.failed(failure.error, backoffMs)
      if (backoffMs === undefined) {
        this.#giveUp(failure.error)
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
    const forgetEnd = onAbort(term.signal, () => failed.resolve(undefined))
    let progress: ProgressWatch | undefined
    try {
      for (const extension of this.#options.extensions) detach.push(extension.attach(term))
      // Without a warm-up, the controller runs in this very turn.
      if (this.#warmRun !== undefined) await this.#awaitWarmUp(this.#warmRun, term)
      if (!term.signal.aborted) {
        const controller = this.#build()
        this.#options.observer.runBegan(term)
        detach.push(publishRun(term, controller))
        progress = this.#watchProgress(term)
        term.spawn('run', () => controller.run(term)).catch(() => {})
      }
    } catch (error) {
      failed.resolve({ error })
    }
    const failure = await failed.promise
    progress?.end()
    forgetEnd()
    const overdue = failure === undefined ? undefined : this.#endFailedRun(term, failure)
    await term.scope.join()
    await this.#endWarmRun(failure === undefined ? 'its term has ended' : 'its run has failed')
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
    const { name, leadership, lease, clock, logger, observer } = this.#options
    let hasFailed = false
    const term: ControllerTerm = new ControllerTerm({
      controller: name,
      leadership,
      lease,
      clock,
      ...(logger !== undefined && { logger }),
      ...(this.#warmRun !== undefined && { health: this.#warmRun.health }),
      onTaskFailure: (error, task) => {
        if (!term.signal.aborted && !hasFailed) {
          hasFailed = true
          fail({ error })
        } else if (!term.isEchoOfEnd(error)) observer.failedWhileEnding(error, task)
      },
      onIdle: () => {
        hasFailed = true
        fail({ error: new ControllerReturnedError(name) })
      },
      onStepDown: observer.stepDown,
      cleanupBudgetMs: this.#options.cleanupBudgetMs,
      onCleanupOverdue: () => this.cleanupOverdue(),
    })
    return term
  }

  /** Notes that cleanups, also those of a warm-up, did not end in time. */
  cleanupOverdue(): void {
    this.#isCleanupOverdue = true
    this.#options.observer.cleanupOverdue()
  }

  /** Ends a run that failed. A run that does not end in time is never restarted, so the controller has failed for good. */
  #endFailedRun(term: ControllerTerm, { error }: Failure): Timer {
    const { name, clock, restartDrainMs } = this.#options
    term.hardAbort(new ControllerRestartError(name, error))
    return clock.setTimer(restartDrainMs, () => {
      if (this.#ending === undefined) this.#giveUp(error)
    })
  }

  #giveUp(error: unknown): void {
    const { name, restart, observer } = this.#options
    observer.gaveUp(new ControllerFailedError(name, error), restart.withinMs)
  }

  /** A controller that stands still can be neither restarted nor left alone: its health check fails, and it is given up. */
  #watchProgress(term: ControllerTerm): ProgressWatch | undefined {
    const { name, clock, progressTimeoutMs: timeoutMs, observer } = this.#options
    if (timeoutMs === Infinity) return undefined
    let stalled: NoProgressError | undefined
    term.progress()
    term.health.register('progress', () => {
      if (stalled !== undefined) throw stalled
    })
    return new ProgressWatch({
      clock,
      timeoutMs,
      progressedAt: () => term.progressedAt,
      onStalled: () => {
        stalled = new NoProgressError(name, timeoutMs)
        observer.failed(stalled, undefined)
        this.#giveUp(stalled)
      },
    })
  }

  /** An instance whose warm-up did not come to a good end in time is not used. */
  async #awaitWarmUp(warmRun: WarmRun, term: ControllerTerm): Promise<void> {
    const { clock, warmUpTimeoutMs: timeoutMs } = this.#options
    if (await warmRun.isReadyWithin({ clock, timeoutMs, signal: term.signal })) {
      warmRun.adopt(this.#options.leadership, (error, task) => term.taskFailed(error, task))
      return
    }
    warmRun.end('it was not ready when its term began')
    this.#first = undefined
  }

  async #endWarmRun(why: string): Promise<void> {
    this.#warmRun?.end(why)
    await this.#warmRun?.join()
    this.#warmRun = undefined
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
