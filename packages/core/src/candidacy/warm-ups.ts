import { buildNext, type Registration } from '../controller/registration.ts'
import type { Controller } from '../controller/controller.ts'
import { MAX_BACKOFF_MS } from '../controller/restart-options.ts'
import { WarmRun, type WarmUpMode, type WarmUpOutcome } from '../controller/warm-up.ts'
import { OptionsError } from '../options/options-error.ts'
import type { Clock, Timer } from '../ports/clock.ts'
import type { LiveTask } from '../term/task-scope.ts'

/** What {@link WarmUps} are made of. */
export interface WarmUpsOptions {
  readonly lease: string
  readonly registrations: readonly Registration[]
  readonly seen: WeakSet<Controller>
  readonly clock: Clock
  readonly cleanupTimeoutMs: number
  readonly observer: WarmUpObserver
}

/** Hears of warm-ups. */
interface WarmUpObserver {
  readonly over: (controller: string, outcome: WarmUpOutcome) => void
  /** Something failed that cannot be the outcome any more. */
  readonly failedWhileEnding: (controller: string, error: unknown, task: string) => void
  /** A controller can never run. */
  readonly unusable: (error: OptionsError) => void
  /** Cleanups did not end in time. */
  readonly overdue: () => void
}

/**
 * The controllers that a replica has built ahead of a term.
 *
 * 1. At most one warm-up of each registration at a time: the next begins when nothing is left of the one before.
 * 2. Those that are taken belong to the term; the others end here.
 */
export class WarmUps {
  readonly #options: WarmUpsOptions
  readonly #slots = new Map<Registration, Slot>()

  constructor(options: WarmUpsOptions) {
    this.#options = options
  }

  /** Begins those of the given mode that have not begun. */
  begin(mode: Exclude<WarmUpMode, 'never'>): void {
    for (const registration of this.#options.registrations) {
      if (registration.warmUp === mode) this.#slotOf(registration).begin()
    }
  }

  /** Hands out what is there at the beginning of a term. What is handed out is no longer ended here. */
  take(): ReadonlyMap<Registration, WarmRun> {
    const taken = new Map<Registration, WarmRun>()
    for (const [registration, slot] of this.#slots) {
      const run = slot.take()
      if (run !== undefined) taken.set(registration, run)
    }
    return taken
  }

  /** Ends those of the given mode, or all of them. Resolves when nothing of them is left. */
  async end(why: string, mode?: WarmUpMode): Promise<void> {
    const slots = [...this.#slots].filter(([{ warmUp }]) => mode === undefined || warmUp === mode)
    await Promise.all(slots.map(([, slot]) => slot.end(why)))
  }

  /** The tasks that have not settled. */
  liveTasks(): readonly LiveTask[] {
    return [...this.#slots.values()].flatMap((slot) => slot.liveTasks())
  }

  #slotOf(registration: Registration): Slot {
    const known = this.#slots.get(registration)
    if (known !== undefined) return known
    const slot = new Slot(registration, this.#options)
    this.#slots.set(registration, slot)
    return slot
  }
}

/** The warm-up of one registration: tried again with growing pauses when it fails. */
class Slot {
  readonly #registration: Registration
  readonly #options: WarmUpsOptions
  #wanted = false
  #run: WarmRun | undefined
  /** What ends. The next one waits for it. */
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

  take(): WarmRun | undefined {
    const run = this.#run
    this.#run = undefined
    this.#leaving = undefined
    this.#unwant()
    return run
  }

  async end(why: string): Promise<void> {
    this.#unwant()
    this.#discard(why)
    await this.#leaving
  }

  liveTasks(): readonly LiveTask[] {
    return this.#run?.liveTasks() ?? []
  }

  #unwant(): void {
    this.#wanted = false
    this.#retry?.cancel()
    this.#retry = undefined
  }

  #next(): void {
    if (!this.#wanted || this.#leaving !== undefined) return
    const { lease, clock, cleanupTimeoutMs, observer } = this.#options
    const controller = this.#build()
    if (controller === undefined) return
    const { name } = controller
    const run: WarmRun = new WarmRun({
      controller,
      lease,
      clock,
      cleanupBudgetMs: () => cleanupTimeoutMs,
      onCleanupOverdue: observer.overdue,
      onLateFailure: (error, task) => this.#lateFailure(run, error, task),
    })
    this.#run = run
    run.start()
    void run.settled.then((outcome) => {
      observer.over(name, outcome)
      if (outcome.kind === 'failed') this.#failed(run)
    })
  }

  #build(): Controller | undefined {
    try {
      return buildNext(this.#registration, this.#options.seen)
    } catch (error) {
      if (error instanceof OptionsError) this.#options.observer.unusable(error)
      else {
        this.#options.observer.over(`controller-${this.#options.registrations.indexOf(this.#registration) + 1}`, {
          kind: 'failed',
          error,
        })
        this.#retryLater()
      }
      return undefined
    }
  }

  /** A cache that breaks after it was warm is as good as a warm-up that failed. */
  #lateFailure(run: WarmRun, error: unknown, task: string): void {
    const { observer } = this.#options
    const controller = run.controller.name
    if (run.outcome?.kind !== 'ready') return observer.failedWhileEnding(controller, error, task)
    observer.over(controller, { kind: 'failed', error })
    this.#failed(run)
  }

  #failed(run: WarmRun): void {
    if (this.#run !== run) return
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
    const run = this.#run
    if (run === undefined || this.#leaving !== undefined) return
    run.end(why)
    const leaving = run.join().then(() => {
      if (this.#leaving !== leaving) return
      this.#run = undefined
      this.#leaving = undefined
      if (this.#retry === undefined) this.#next()
    })
    this.#leaving = leaving
  }
}
