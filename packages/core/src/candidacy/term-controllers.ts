import { buildAll, buildNext, type FirstBuild, type Registration } from '../controller/registration.ts'
import type { Controller } from '../controller/controller.ts'
import type { ControllerWarmUp } from '../controller/warm-up.ts'
import { ControllerSupervisor, type SupervisorOptions } from '../controller/supervisor.ts'
import type { SupervisorObserver } from '../controller/supervisor-observer.ts'
import type { EndReason } from '../election/leadership-ended-error.ts'
import { LeadershipEndedError } from '../election/leadership-ended-error.ts'
import type { Leadership } from '../term/leadership.ts'
import type { LiveTask, TaskScope } from '../term/task-scope.ts'
import type { DrainOutcome, TermOverEvent } from './events.ts'
import { WedgedError } from './wedged-error.ts'

/** Budgets for the end of a term. */
export interface DrainTiming {
  readonly drainTimeoutMs: number
  readonly abortGraceMs: number
  readonly cleanupTimeoutMs: number
}

/** Options of {@link TermControllers}. */
export interface TermControllersOptions extends Omit<
  SupervisorOptions,
  | 'name'
  | 'build'
  | 'restart'
  | 'progressTimeoutMs'
  | 'warmUpTimeoutMs'
  | 'leadership'
  | 'observer'
  | 'restartDrainMs'
  | 'cleanupBudgetMs'
> {
  readonly timing: DrainTiming
  readonly leadership: Leadership
  readonly registrations: readonly Registration[]
  /** The warm-ups of controllers that were built before the term. */
  readonly warmUps: ReadonlyMap<Registration, ControllerWarmUp>
  /** Every controller that was ever built for this lease. */
  readonly seen: WeakSet<Controller>
  readonly observe: (controller: string) => SupervisorObserver
  /** Called when only cleanups are left of a term that ends, and again when further cleanups begin. */
  readonly onCleaning: () => void
}

/**
 * The controllers of one term, from their construction to the end of their last task.
 *
 * Nothing of it outlives `done`; the next term gets a new one.
 */
export class TermControllers {
  readonly leadership: Leadership
  readonly startedAt: number
  /** Errors of tasks and cleanups while the term ended. */
  readonly errors: unknown[] = []
  readonly #options: TermControllersOptions
  readonly #supervisors: readonly ControllerSupervisor[]
  readonly #builds: readonly FirstBuild[]
  readonly #over = Promise.withResolvers<TermOverEvent>()
  #endingSince: number | undefined
  #endedAt: number | undefined
  #reason: EndReason | undefined
  #isVoluntary = true
  #drain: DrainOutcome = 'clean'
  #wedged: WedgedError | undefined

  /** Builds the controllers and runs none. @throws OptionsError when a controller can never run. */
  constructor(options: TermControllersOptions) {
    this.#options = options
    this.leadership = options.leadership
    this.startedAt = options.clock.now()
    this.#builds = buildAll(options.registrations, options.seen, options.warmUps)
    this.#supervisors = this.#builds.map((build) => this.#supervisorOf(build))
  }

  /** Resolves when the term has ended, with how it ended. */
  get over(): Promise<TermOverEvent> {
    return this.#over.promise
  }

  /** Closes the gate of the ended term and resolves {@link over}. */
  close({ outcome, successor }: Pick<TermOverEvent, 'outcome' | 'successor'>): TermOverEvent {
    const { leadership, drain, drainMs, errors, endReason: reason } = this
    leadership.closeGate(reason)
    const durationMs = this.#options.clock.now() - this.startedAt
    const { epoch } = leadership
    const over = { kind: 'term-over', epoch, reason, outcome, successor, drain, durationMs, drainMs, errors } as const
    this.#over.resolve(over)
    return over
  }

  /** Why the term ends. */
  get endReason(): EndReason {
    return this.#reason ?? 'step-down'
  }

  /** Why the term ends; undefined while it lasts. */
  get reason(): EndReason | undefined {
    return this.#reason
  }

  /** The outcome of the drain so far. */
  get drain(): DrainOutcome {
    return this.#drain
  }

  /** Milliseconds from the start of the drain to the end of the last task. */
  get drainMs(): number {
    return (this.#endedAt ?? this.#options.clock.now()) - (this.#endingSince ?? this.#options.clock.now())
  }

  /** Runs the controllers, in the order of registration. */
  start(): void {
    this.#supervisors.forEach((supervisor, index) => {
      const build = this.#builds[index]
      if (build?.kind === 'built') supervisor.start(build.controller, build.warmUp)
      else supervisor.start()
    })
  }

  /** Resolves when nothing of the controllers is left. */
  async done(): Promise<void> {
    await Promise.all(this.#supervisors.map((supervisor) => supervisor.done))
    this.#endedAt = this.#options.clock.now()
  }

  /** Tells the controllers to take no new work. Only the first reason counts. */
  end(reason: EndReason, voluntary: boolean): void {
    this.#reason ??= reason
    if (!voluntary) this.#isVoluntary = false
    this.#endingSince ??= this.#options.clock.now()
    const error = this.#error()
    for (const supervisor of this.#supervisors.toReversed()) supervisor.end(error)
    this.noteCleaning()
  }

  /** Notes that cleanups of a controller begin. */
  noteCleaning(): void {
    const isEnding = this.#reason !== undefined
    if (isEnding && this.#supervisors.every((supervisor) => supervisor.isCleaning)) this.#options.onCleaning()
  }

  /** Tells the controllers to drop what is in flight. */
  hardAbort(): void {
    if (this.#drain !== 'wedged') this.#drain = 'aborted'
    const error = this.#error()
    for (const supervisor of this.#supervisors.toReversed()) supervisor.hardAbort(error)
  }

  /** Records that the drain did not end in time, and which tasks are left. */
  wedge(): WedgedError {
    this.#drain = 'wedged'
    const { epoch, lease } = this.leadership
    this.#wedged = new WedgedError(`The term with epoch ${epoch} on \`${lease}\``, this.liveTasks())
    return this.#wedged
  }

  /** The tasks that wedged the drain; undefined while it is in time. */
  get wedged(): WedgedError | undefined {
    return this.#wedged
  }

  /** The tasks that have not settled. */
  liveTasks(): readonly LiveTask[] {
    return this.#supervisors.flatMap((supervisor) => supervisor.liveTasks())
  }

  /** The hard signal of the run that owns the scope; undefined if it is not a run of this term. */
  hardSignalOf(scope: TaskScope): AbortSignal | undefined {
    return this.#supervisors.map((supervisor) => supervisor.hardSignalOf(scope)).find((signal) => signal !== undefined)
  }

  #error(): LeadershipEndedError {
    return new LeadershipEndedError(this.endReason, this.leadership.epoch)
  }

  /** After an involuntary end, cleanups have no more time than the lease. */
  #cleanupBudgetMs(): number {
    const { abortGraceMs, cleanupTimeoutMs } = this.#options.timing
    if (this.#isVoluntary) return cleanupTimeoutMs
    const remainingMs = this.leadership.remainingMs()
    return Math.min(cleanupTimeoutMs, remainingMs > 0 ? remainingMs : abortGraceMs)
  }

  #supervisorOf(build: FirstBuild): ControllerSupervisor {
    const { name } = build
    let firstError = build.kind === 'failed' ? build : undefined
    const next = () => {
      const failed = firstError
      firstError = undefined
      if (failed !== undefined) throw failed.error
      return buildNext(build.registration, this.#options.seen)
    }
    const observer = this.#options.observe(name)
    return new ControllerSupervisor({
      ...this.#options,
      name,
      build: next,
      ...supervision(build.registration, this.#options.timing),
      cleanupBudgetMs: () => this.#cleanupBudgetMs(),
      observer: {
        ...observer,
        cleaning: () => this.noteCleaning(),
        failedWhileEnding: (error, task) => this.#note(observer, error, task),
      },
    })
  }

  #note(observer: SupervisorObserver, error: unknown, task: string): void {
    this.errors.push(error)
    observer.failedWhileEnding(error, task)
  }
}

/** The supervision options of a controller, from its registration and the budgets of its group. */
export function supervision(
  { restart, progressTimeoutMs, warmUpTimeoutMs }: Registration,
  { drainTimeoutMs, abortGraceMs, cleanupTimeoutMs }: DrainTiming,
): Pick<SupervisorOptions, 'restart' | 'progressTimeoutMs' | 'warmUpTimeoutMs' | 'restartDrainMs'> {
  const restartDrainMs = drainTimeoutMs + abortGraceMs + cleanupTimeoutMs
  return { restart, progressTimeoutMs, warmUpTimeoutMs, restartDrainMs }
}
