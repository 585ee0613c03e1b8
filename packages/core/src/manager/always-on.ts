import { type DrainTiming, supervision } from '../candidacy/term-run.ts'
import { WedgedError } from '../candidacy/wedged-error.ts'
import {
  buildAll,
  buildNext,
  createRegistration,
  type RegisterOptions,
  type Registration,
} from '../controller/registration.ts'
import type { Controller, ControllerFactory } from '../controller/controller.ts'
import type { ResolvedRestartOptions } from '../controller/restart-options.ts'
import { remedyFor } from '../controller/remedy.ts'
import { ControllerSupervisor, type SupervisorObserver } from '../controller/supervisor.ts'
import { LeadershipEndedError } from '../election/leadership-ended-error.ts'
import { HealthProbe } from '../health/health-probe.ts'
import { OptionsError } from '../options/options-error.ts'
import type { Clock } from '../ports/clock.ts'
import type { Logger } from '../ports/logger.ts'
import type { Random } from '../ports/random.ts'
import type { TaskScope } from '../term/task-scope.ts'
import type { TermExtension } from '../term/term-extension.ts'

/** What {@link AlwaysOn} is made of. */
export interface AlwaysOnRunOptions {
  readonly identity: string
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly restart: ResolvedRestartOptions
  readonly timing: DrainTiming
  readonly extensions: readonly TermExtension[]
  readonly onFailure: (error: Error) => void
  /** Called when tasks are left that do not end. */
  readonly onWedged: (error: WedgedError) => void
}

/** The controllers that run from start to stop of the manager, whoever leads. */
export class AlwaysOn {
  /** The health checks of the controllers. */
  readonly health: HealthProbe = new HealthProbe()
  readonly #options: AlwaysOnRunOptions
  readonly #registrations: Registration[] = []
  readonly #seen = new WeakSet<Controller>()
  #isStopping = false
  #isWedged = false
  #supervisors: readonly ControllerSupervisor[] = []

  constructor(options: AlwaysOnRunOptions) {
    this.#options = options
  }

  /** Adds a controller. @throws OptionsError for a factory that is not a function, or bad options. */
  register(factory: ControllerFactory, options: RegisterOptions): void {
    const registration = createRegistration(factory, options, this.#options.restart)
    if (registration.warmUp !== 'never') {
      throw new OptionsError('Expected `warmUp` to be given only for a controller that needs leadership')
    }
    this.#registrations.push(registration)
  }

  /** Runs them. @throws OptionsError when one of them can never run. */
  start(): void {
    const builds = buildAll(this.#registrations, this.#seen)
    this.#supervisors = builds.map((build) => {
      const { name } = build
      const supervisor = new ControllerSupervisor({
        ...this.#options,
        name,
        lease: this.#options.identity,
        leadership: undefined,
        build: () => buildNext(build.registration, this.#seen),
        ...supervision(build.registration, this.#options.timing),
        cleanupBudgetMs: () => this.#options.timing.cleanupTimeoutMs,
        observer: this.#observerOf(name),
      })
      return supervisor
    })
    builds.forEach((build, index) => {
      this.#supervisors[index]?.start(build.kind === 'built' ? build.controller : undefined)
    })
  }

  /** The hard signal of the run that the scope belongs to; undefined where it is none of these. */
  hardSignalOf(scope: TaskScope): AbortSignal | undefined {
    return this.#supervisors.map((supervisor) => supervisor.hardSignalOf(scope)).find((signal) => signal !== undefined)
  }

  /** Ends them; resolves when nothing of them is left. */
  async stop(): Promise<void> {
    const reason = new LeadershipEndedError('shutdown', 0n)
    for (const supervisor of this.#supervisors) supervisor.end(reason)
    const { clock, timing } = this.#options
    const abort = clock.setTimer(timing.drainTimeoutMs, () => {
      for (const supervisor of this.#supervisors) supervisor.hardAbort(reason)
    })
    // What is left then may be cleanups, which have a time of their own.
    const wedge = clock.setTimer(timing.drainTimeoutMs + timing.abortGraceMs, () => {
      if (!this.#supervisors.every((supervisor) => supervisor.isWithinCleanupBudget)) this.#reportWedged()
    })
    this.#isStopping = true
    await Promise.all(this.#supervisors.map((supervisor) => supervisor.done))
    abort.cancel()
    wedge.cancel()
  }

  #reportWedged(): void {
    if (this.#isWedged) return
    this.#isWedged = true
    const { identity, onWedged } = this.#options
    const tasks = this.#supervisors.flatMap((supervisor) => supervisor.liveTasks())
    onWedged(new WedgedError(identity, 0n, tasks))
  }

  #observerOf(controller: string): SupervisorObserver {
    const { logger, onFailure } = this.#options
    let removeHealth = () => {}
    return {
      runBegan: (term) => (removeHealth = this.health.add(term.health, `${controller}.`)),
      runOver: () => removeHealth(),
      failed: (error, restartInMs) =>
        logger.error(
          { event: 'controller-failed', controller, restartInMs, err: error },
          `controller ${controller} failed${remedyFor(error)}`,
        ),
      failedWhileEnding: (error, task) =>
        logger.error({ controller, task, err: error }, 'task failed while its controller ended'),
      gaveUp: onFailure,
      cleanupOverdue: () => {
        if (this.#isStopping) this.#reportWedged()
      },
      stepDown: () => {},
    }
  }
}
