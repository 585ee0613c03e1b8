import { publishRun } from './run-channels.ts'
import { describeTasks } from '../term/describe-tasks.ts'
import { Drain } from '../drain/drain.ts'
import type { Clock, Timer } from '../ports/clock.ts'
import type { Logger } from '../ports/logger.ts'
import type { Random } from '../ports/random.ts'
import { ControllerTerm } from '../term/controller-term.ts'
import type { Leadership } from '../term/leadership.ts'
import { onAbort } from '../on-abort.ts'
import type { LiveTask, TaskScope } from '../term/task-scope.ts'
import type { TermExtension } from '../term/term-extension.ts'
import type { Controller, ControllerFactory } from './controller.ts'
import { NoProgressError, ProgressWatch } from './progress-watch.ts'
import type { Registration } from './registration.ts'
import { RestartBackoff } from './restart-backoff.ts'
import type { SupervisorObserver } from './supervisor-observer.ts'
import { ControllerFailedError, ControllerRestartError, ControllerReturnedError } from './terminal-error.ts'
import type { ControllerWarmUp } from './warm-up.ts'

/** Options of a {@link ControllerSupervisor}. */
export interface SupervisorOptions extends Pick<Registration, 'restart' | 'progressTimeoutMs' | 'warmUpTimeoutMs'> {
  readonly name: string
  /** Builds a new controller. */
  readonly build: ControllerFactory
  /** Undefined for a controller that needs no leadership. */
  readonly leadership: Leadership | undefined
  readonly lease: string
  readonly clock: Clock
  readonly random: Random
  /** The logger of the controller. @default a logger that drops every line */
  readonly logger?: Logger
  /** How long a failed run may take to end, in milliseconds. After that the controller has failed for good. */
  readonly restartDrainMs: number
  /** How long the cleanups of a run may take. Called when they begin. */
  readonly cleanupBudgetMs: () => number
  readonly extensions: readonly TermExtension[]
  readonly observer: SupervisorObserver
}

/**
 * Runs one controller until `end()`. Restarts it when it fails, within limits, and reports when nothing of it is left.
 *
 * 1. At most one run at a time. The next begins after the last task and cleanup of the previous run.
 * 2. `done` resolves when no run is left and none will follow.
 */
export class ControllerSupervisor {
  /** Resolves when nothing of the controller is left. Never rejects. */
  readonly done: Promise<void>
  readonly #options: SupervisorOptions
  readonly #done = Promise.withResolvers<void>()
  readonly #backoffs: RestartBackoff
  #first: Controller | undefined
  #warmUp: ControllerWarmUp | undefined
  #run: ControllerTerm | undefined
  #isCleanupOverdue = false
  #ending: Error | undefined
  #backoff: { readonly timer: Timer; readonly wake: () => void } | undefined

  constructor(options: SupervisorOptions) {
    this.#options = options
    this.#backoffs = new RestartBackoff(options)
    this.done = this.#done.promise
  }

  /** Starts to run the controller. `first` is the instance for the first run, if one was already built; `warmUp` is its warm-up. */
  start(first?: Controller, warmUp?: ControllerWarmUp): void {
    this.#first = first
    this.#warmUp = warmUp
    void this.#supervise()
      .catch((error: unknown) => this.#crashed(error))
      .then(() => this.#resolveDone())
  }

  /** The tasks that have not settled. */
  liveTasks(): readonly LiveTask[] {
    return [...(this.#run?.scope.liveTasks() ?? []), ...(this.#warmUp?.liveTasks() ?? [])]
  }

  /** Whether only cleanups are left, and they still have time. */
  get isCleaning(): boolean {
    if (this.#isCleanupOverdue) return false
    const tasks = this.#run === undefined || this.#run.scope.isCleaning ? 0 : this.#run.scope.size
    return tasks === 0 && (this.#warmUp?.isCleaning ?? true)
  }

  /** The hard signal of the run or warm-up that owns the scope; undefined if it is not of this controller. */
  hardSignalOf(scope: TaskScope): AbortSignal | undefined {
    return this.#run?.scope === scope ? this.#run.hardSignal : this.#warmUp?.hardSignalOf(scope)
  }

  /** Asks the controller to take no new work, and never restarts it. */
  end(reason: Error): void {
    this.#ending ??= reason
    this.#backoff?.timer.cancel()
    this.#backoff?.wake()
    this.#run?.end(reason)
  }

  /** Asks the controller to drop what is in flight. */
  hardAbort(reason: Error): void {
    this.end(reason)
    this.#run?.hardAbort(reason)
  }

  /** The only place that resolves `done`. A run that was not joined keeps the term from ending, whatever was thrown before. */
  #resolveDone(): void {
    if (this.#run === undefined && this.#warmUp === undefined) this.#done.resolve()
  }

  /** The supervision itself has failed. Nothing would restart the controller, so the term ends. */
  #crashed(error: unknown): void {
    const { name, observer } = this.#options
    for (const tell of [
      () => observer.failed(error, undefined),
      () => this.#giveUp(new ControllerFailedError(name, error)),
    ]) {
      try {
        tell()
      } catch {
        // An observer that throws has been notified.
      }
    }
  }

  async #supervise(): Promise<void> {
    // Reads the clock, as before all code of the user: the term may have ended during the pause before the restart.
    while (this.#ending === undefined && (this.#options.leadership?.isHeld() ?? true)) {
      const failure = await this.#runOnce()
      if (failure === undefined || this.#ending !== undefined) return
      if (failure.backoffMs === undefined) {
        this.#giveUp(new ControllerFailedError(this.#options.name, failure.error))
        return
      }
      await this.#pause(failure.backoffMs)
    }
    await this.#endWarmUp('its term ended before its run began')
  }

  /** One run, to the end of its last task and cleanup. Resolves with the failure, or with undefined after a requested end. */
  async #runOnce(): Promise<ReportedFailure | undefined> {
    const failed = Promise.withResolvers<Failure | undefined>()
    const term = this.#createTerm(failed.resolve)
    const run: Run = { term, detach: [onAbort(term.signal, () => failed.resolve(undefined))] }
    this.#run = term
    try {
      await this.#begin(run).catch((error: unknown) => failed.resolve({ error, task: 'run' }))
      const failure = await failed.promise
      run.progress?.end()
      return failure && this.#endFailedRun(run, failure)
    } catch (error) {
      term.hardAbort(new ControllerRestartError(this.#options.name, error))
      throw error
    } finally {
      await this.#join(run)
    }
  }

  /** Without a warm-up, the controller runs in the same turn. */
  async #begin(run: Run): Promise<void> {
    const { term, detach } = run
    for (const extension of this.#options.extensions) detach.push(extension.attach(term))
    if (this.#warmUp !== undefined) await this.#awaitWarmUp(this.#warmUp, term)
    if (term.signal.aborted) return
    const controller = this.#build()
    this.#options.observer.runBegan(term)
    detach.push(publishRun(term, controller))
    run.progress = this.#watchProgress(term)
    term.spawn('run', () => term.scope.enter(() => controller.run(term))).catch(() => {})
  }

  /** Waits for everything that the run and its warm-up have started. Every run ends here. */
  async #join({ term, detach, drain }: Run): Promise<void> {
    await term.scope.join()
    await this.#endWarmUp('its run has ended')
    drain?.empty()
    this.#run = undefined
    for (const dispose of detach.toReversed()) this.#detach(dispose)
    term.over()
    this.#options.observer.runOver(term)
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
      ...(this.#warmUp !== undefined && { health: this.#warmUp.health }),
      onTaskFailure: (error, task) => {
        if (!term.signal.aborted && !hasFailed) {
          hasFailed = true
          fail({ error, task })
        } else if (!term.isEchoOfEnd(error)) observer.failedWhileEnding(error, task)
      },
      onIdle: () => {
        hasFailed = true
        fail({ error: new ControllerReturnedError(name), task: 'run' })
      },
      onStepDown: observer.stepDown,
      cleanupBudgetMs: this.#options.cleanupBudgetMs,
      onCleaning: observer.cleaning,
      onCleanupOverdue: () => this.#cleanupOverdue(),
    })
    return term
  }

  #cleanupOverdue(): void {
    this.#isCleanupOverdue = true
    this.#options.observer.cleanupOverdue()
  }

  /** Reports a failure before waiting for the end of the run, which may take long or never come. */
  #endFailedRun(run: Run, { error, task }: Failure): ReportedFailure | undefined {
    const { observer } = this.#options
    // The controller has begun to end in the meantime.
    if (this.#ending !== undefined) {
      observer.failedWhileEnding(error, task)
      return undefined
    }
    const backoffMs = this.#backoffs.next(error)
    observer.failed(error, backoffMs)
    run.drain = this.#drainFailedRun(run.term, error)
    return { error, backoffMs }
  }

  /** A failed run gets no time to finish, because its work is of no use. */
  #drainFailedRun(term: ControllerTerm, error: unknown): Drain {
    const { name, clock, restartDrainMs } = this.#options
    const drain = new Drain({
      clock,
      onEffect: (effect) => {
        if (effect === 'wedged') this.#onOverdue(error)
        else term.hardAbort(new ControllerRestartError(name, error))
      },
    })
    const now = clock.now()
    drain.ask({ voluntary: false, abortAt: now, wedgedAt: now + restartDrainMs, cleanups: { timeoutMs: Infinity } })
    return drain
  }

  /** A failed run did not end in time. It cannot be restarted, so the controller has failed for good. */
  #onOverdue(error: unknown): void {
    if (this.#ending !== undefined) return
    const { name, restartDrainMs, observer } = this.#options
    const stuck = `its run has not ended within ${restartDrainMs} ms, still running: ${describeTasks(this.liveTasks())}`
    const failure = new ControllerFailedError(name, error, stuck)
    observer.failed(failure, undefined)
    this.#giveUp(failure)
  }

  #giveUp(error: ControllerFailedError): void {
    const { restart, observer } = this.#options
    observer.gaveUp(error, restart.withinMs)
  }

  /** Watches the progress of the controller. A stalled controller cannot be restarted: its health check fails and the term ends. */
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
        this.#giveUp(new ControllerFailedError(name, stalled))
      },
    })
  }

  /** Waits for the warm-up. An instance whose warm-up is not ready in time is not used. */
  async #awaitWarmUp(warmUp: ControllerWarmUp, term: ControllerTerm): Promise<void> {
    const { clock, warmUpTimeoutMs: timeoutMs } = this.#options
    if (await warmUp.isReadyWithin({ clock, timeoutMs, signal: term.signal })) {
      warmUp.adopt(this.#options.leadership, (error, task) => term.taskFailed(error, task))
      return
    }
    warmUp.end('it was not ready when its term began')
    this.#first = undefined
  }

  async #endWarmUp(why: string): Promise<void> {
    this.#warmUp?.end(why)
    await this.#warmUp?.join()
    this.#warmUp = undefined
  }

  #build(): Controller {
    const first = this.#first
    this.#first = undefined
    return first ?? this.#options.build()
  }

  async #pause(backoffMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#backoff = { timer: this.#options.clock.setTimer(backoffMs, resolve), wake: resolve }
    await promise
    this.#backoff = undefined
  }
}

/** The parts of a run besides its tasks. */
interface Run {
  readonly term: ControllerTerm
  /** Called in reverse order once nothing of the run is left. */
  readonly detach: (() => void)[]
  progress?: ProgressWatch | undefined
  /** The drain of a failed run. */
  drain?: Drain
}

interface Failure {
  readonly error: unknown
  readonly task: string
}

/** A failure after it was reported to the observer. */
interface ReportedFailure {
  readonly error: unknown
  /** The pause before the next run; undefined if the controller must not run again. */
  readonly backoffMs: number | undefined
}
