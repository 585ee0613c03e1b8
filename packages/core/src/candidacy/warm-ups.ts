import { buildNamed, type Registration } from '../controller/registration.ts'
import type { Controller } from '../controller/controller.ts'
import { Drain } from '../drain/drain.ts'
import type { DrainEffect } from '../drain/machine.ts'
import { isA } from '../error-of.ts'
import { MAX_BACKOFF_MS } from '../controller/restart-options.ts'
import { ControllerWarmUp, type WarmUpMode, type WarmUpOutcome } from '../controller/warm-up.ts'
import { OptionsError } from '../options/options-error.ts'
import type { Timer } from '../ports/clock.ts'
import type { LiveTask, TaskScope } from '../term/task-scope.ts'
import type { CandidacyOptions } from './candidacy-options.ts'
import { describeTasks } from '../term/describe-tasks.ts'

/** Options of {@link WarmUps}. */
export interface WarmUpsOptions extends Pick<CandidacyOptions, 'clock' | 'logger' | 'warmUpStopTimeoutMs'> {
  readonly cleanupTimeoutMs: number
  readonly lease: string
  readonly registrations: readonly Registration[]
  readonly seen: WeakSet<Controller>
  /** Called when a warm-up is ready, has failed, or was cancelled. */
  readonly onOver: (controller: string, outcome: WarmUpOutcome) => void
  /** Called when a controller can never run. */
  readonly onUnusable: (error: OptionsError) => void
  /** Called when every task of a warm-up has settled and its cleanups begin. */
  readonly onCleaning: () => void
  /** Called when cleanups did not end in time. */
  readonly onCleanupOverdue: () => void
  /** Called with the tasks that are left after the stop timeout. */
  readonly onWedged: (tasks: readonly LiveTask[]) => void
}

/**
 * The warm-ups of the controllers of a lease.
 *
 * 1. At most one warm-up per registration at a time. The next begins when nothing of the previous one is left.
 * 2. A warm-up that was handed over belongs to the term. This class ends all others.
 */
export class WarmUps {
  readonly #options: WarmUpsOptions
  readonly #slots = new Map<Registration, Slot>()
  #isStopped = false

  constructor(options: WarmUpsOptions) {
    this.#options = options
  }

  /** The hard signal of the warm-up that owns the scope; undefined if it is none of these. */
  hardSignalOf(scope: TaskScope): AbortSignal | undefined {
    return [...this.#slots.values()]
      .map(({ current }) => current?.hardSignalOf(scope))
      .find((signal) => signal !== undefined)
  }

  /** Starts the warm-ups of this mode that have not started. */
  begin(mode: Exclude<WarmUpMode, 'never'>): void {
    if (this.#isStopped) return
    for (const registration of this.#options.registrations) {
      if (registration.warmUp === mode) this.#slotOf(registration).begin()
    }
  }

  /** The current warm-up of each registration. A new term takes them over. */
  get current(): ReadonlyMap<Registration, ControllerWarmUp> {
    const current = new Map<Registration, ControllerWarmUp>()
    for (const [registration, { current: warmUp }] of this.#slots)
      if (warmUp !== undefined) current.set(registration, warmUp)
    return current
  }

  /** Whether every controller that warms up while this replica follows is ready. */
  get areReady(): boolean {
    return this.#options.registrations.every(
      (registration) =>
        registration.warmUp !== 'following' || this.#slots.get(registration)?.current?.outcome?.kind === 'ready',
    )
  }

  /** Hands the current warm-ups over to a term. */
  handOver(): void {
    for (const slot of this.#slots.values()) slot.handOver()
  }

  /** Ends the warm-ups of this mode, or all. Resolves when nothing of them is left. */
  async end(why: string, mode?: WarmUpMode): Promise<void> {
    const slots = [...this.#slots].filter(([{ warmUp }]) => mode === undefined || warmUp === mode)
    await Promise.all(slots.map(([, slot]) => slot.end(why)))
  }

  /** Ends all warm-ups and starts no more. Resolves when nothing of them is left. Calls `onWedged` if that takes too long. */
  async stop(): Promise<void> {
    this.#isStopped = true
    let ended = Promise.resolve()
    const drain = drainAtOnce(this.#options, (effect) => {
      if (effect === 'wedged') this.#reportWedged()
      else ended = this.end('the replica stops')
    })
    await ended
    drain.empty()
  }

  #reportWedged(): void {
    const tasks = [...this.current.values()].flatMap((warmUp) => warmUp.liveTasks())
    if (tasks.length > 0) this.#options.onWedged(tasks)
  }

  #slotOf(registration: Registration): Slot {
    const known = this.#slots.get(registration)
    if (known !== undefined) return known
    const slot = new Slot(registration, this.#options)
    this.#slots.set(registration, slot)
    return slot
  }
}

/** The warm-up of one registration. Retries with backoff when it fails. */
class Slot {
  readonly #registration: Registration
  readonly #options: WarmUpsOptions
  #wanted = false
  #current: ControllerWarmUp | undefined
  /** The end of the previous warm-up. The next one waits for it. */
  #leaving: Promise<void> | undefined
  #retry: Timer | undefined
  #failures = 0

  constructor(registration: Registration, options: WarmUpsOptions) {
    this.#registration = registration
    this.#options = options
  }

  begin(): void {
    if (this.#wanted) return
    this.#wanted = true
    this.#failures = 0
    this.#next()
  }

  get current(): ControllerWarmUp | undefined {
    return this.#current
  }

  handOver(): void {
    this.#current = undefined
    this.#leaving = undefined
    this.#unwant()
  }

  async end(why: string): Promise<void> {
    this.#unwant()
    this.#discard(why)
    await this.#leaving
  }

  #unwant(): void {
    this.#wanted = false
    this.#retry?.cancel()
    this.#retry = undefined
  }

  #next(): void {
    if (!this.#wanted || this.#leaving !== undefined) return
    const { lease, clock, logger, cleanupTimeoutMs, onCleaning, onCleanupOverdue, onOver } = this.#options
    const built = this.#build()
    if (built === undefined) return
    const { name } = built
    const warmUp: ControllerWarmUp = new ControllerWarmUp({
      ...built,
      lease,
      clock,
      logger,
      cleanupBudgetMs: () => cleanupTimeoutMs,
      onCleaning,
      onCleanupOverdue,
      onLateFailure: (error, task) => this.#lateFailure(warmUp, error, task),
    })
    this.#current = warmUp
    warmUp.start()
    void warmUp.settled.then((outcome) => {
      onOver(name, outcome)
      if (outcome.kind === 'failed') this.#failed(warmUp)
    })
  }

  #build(): ReturnType<typeof buildNamed> | undefined {
    try {
      return buildNamed(this.#registration, this.#options.seen)
    } catch (error) {
      if (isA(error, OptionsError)) this.#options.onUnusable(error)
      else {
        this.#options.onOver(`controller-${this.#options.registrations.indexOf(this.#registration) + 1}`, {
          kind: 'failed',
          error,
        })
        this.#retryLater()
      }
      return undefined
    }
  }

  /** A failure after the warm-up was ready counts as a failed warm-up. */
  #lateFailure(warmUp: ControllerWarmUp, error: unknown, task: string): void {
    const { lease, logger, onOver } = this.#options
    const controller = warmUp.name
    if (warmUp.outcome?.kind !== 'ready' || warmUp !== this.#current) {
      return logger.error({ lease, controller, task, err: error }, 'task failed while its warm-up ended')
    }
    onOver(controller, { kind: 'failed', error })
    this.#failed(warmUp)
  }

  #failed(warmUp: ControllerWarmUp): void {
    if (this.#current !== warmUp) return
    this.#discard('it failed')
    if (this.#wanted) this.#retryLater()
  }

  #retryLater(): void {
    const { backoffMs } = this.#registration.restart
    const pauseMs = Math.min(Math.max(backoffMs, 1) * 2 ** this.#failures++, MAX_BACKOFF_MS)
    this.#retry = this.#options.clock.setTimer(pauseMs, () => {
      this.#retry = undefined
      this.#next()
    })
  }

  #discard(why: string): void {
    const warmUp = this.#current
    if (warmUp === undefined || this.#leaving !== undefined) return
    const drain = drainAtOnce(this.#options, (effect) => {
      if (effect === 'wedged') this.#warnOfStuck(warmUp)
      else warmUp.end(why)
    })
    const leaving = warmUp.join().then(() => {
      drain.empty()
      if (this.#leaving !== leaving) return
      this.#current = undefined
      this.#leaving = undefined
      if (this.#retry === undefined) this.#next()
    })
    this.#leaving = leaving
  }

  /** The next warm-up waits for this one, so an operator should know. */
  #warnOfStuck(warmUp: ControllerWarmUp): void {
    const { lease, logger } = this.#options
    const tasks = warmUp.liveTasks()
    const message = `warm-up of ${warmUp.name} does not end, still running: ${describeTasks(tasks)}`
    logger.warn({ lease, event: 'warm-up-stuck', controller: warmUp.name, tasks }, message)
  }
}

/** A warm-up that is no longer needed gets no time to finish. */
function drainAtOnce({ clock, warmUpStopTimeoutMs }: WarmUpsOptions, onEffect: (effect: DrainEffect) => void): Drain {
  const drain = new Drain({ clock, onEffect })
  const now = clock.now()
  drain.ask({
    voluntary: false,
    abortAt: now,
    wedgedAt: now + warmUpStopTimeoutMs,
    cleanups: { timeoutMs: Infinity },
  })
  return drain
}
