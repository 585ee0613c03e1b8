import { type DrainTiming, supervision } from '../candidacy/term-controllers.ts'
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
import { ControllerSupervisor } from '../controller/supervisor.ts'
import type { SupervisorObserver } from '../controller/supervisor-observer.ts'
import { Drain } from '../drain/drain.ts'
import type { DrainEffect } from '../drain/machine.ts'
import { LeadershipEndedError } from '../election/leadership-ended-error.ts'
import { HealthProbe } from '../health/health-probe.ts'
import { OptionsError } from '../options/options-error.ts'
import type { Clock } from '../ports/clock.ts'
import type { Logger } from '../ports/logger.ts'
import type { Random } from '../ports/random.ts'
import type { TaskScope } from '../term/task-scope.ts'
import type { TermExtension } from '../term/term-extension.ts'
import { textOf } from '../text-of.ts'

/** Options of {@link AlwaysOn}. */
export interface AlwaysOnRunOptions {
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly restart: ResolvedRestartOptions
  readonly timing: DrainTiming
  readonly extensions: readonly TermExtension[]
  readonly onFailure: (error: Error) => void
  /** Called with the tasks that are left after the stop timeout. */
  readonly onWedged: (error: WedgedError) => void
}

/** Stands for the name of a lease in always-on controllers. */
const ALWAYS_ON = 'always-on'

function shutdown(): LeadershipEndedError {
  return new LeadershipEndedError('shutdown', undefined)
}

/** The controllers that run from the start to the stop of the manager, with or without leadership. */
export class AlwaysOn {
  /** The health checks of the controllers. */
  readonly health: HealthProbe = new HealthProbe()
  readonly #options: AlwaysOnRunOptions
  readonly #registrations: Registration[] = []
  readonly #seen = new WeakSet<Controller>()
  readonly #drain: Drain
  #supervisors: readonly ControllerSupervisor[] = []

  constructor(options: AlwaysOnRunOptions) {
    this.#options = options
    this.#drain = new Drain({ clock: options.clock, onEffect: (effect) => this.#onEffect(effect) })
  }

  /** Adds a controller. @throws OptionsError for a factory that is not a function, or a wrong option. */
  register(factory: ControllerFactory, options: RegisterOptions): void {
    const registration = createRegistration(factory, options, this.#options.restart)
    if (registration.warmUp !== 'never') {
      throw new OptionsError('Expected `warmUp` to be given only for a controller that needs leadership')
    }
    this.#registrations.push(registration)
  }

  /** Runs the controllers. @throws OptionsError when a controller can never run. */
  start(): void {
    const builds = buildAll(this.#registrations, this.#seen)
    this.#supervisors = builds.map((build) => {
      const { name } = build
      const supervisor = new ControllerSupervisor({
        ...this.#options,
        name,
        lease: ALWAYS_ON,
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

  /** The hard signal of the run that owns the scope; undefined if it is none of these. */
  hardSignalOf(scope: TaskScope): AbortSignal | undefined {
    return this.#supervisors.map((supervisor) => supervisor.hardSignalOf(scope)).find((signal) => signal !== undefined)
  }

  /** Ends the controllers. Resolves when nothing of them is left. */
  async stop(): Promise<void> {
    const { clock, timing } = this.#options
    const abortAt = clock.now() + timing.drainTimeoutMs
    const wedgedAt = abortAt + timing.abortGraceMs
    this.#drain.ask({ voluntary: true, abortAt, wedgedAt, cleanups: { timeoutMs: timing.cleanupTimeoutMs } })
    for (const supervisor of this.#supervisors) supervisor.end(shutdown())
    this.#noteCleaning()
    await Promise.all(this.#supervisors.map((supervisor) => supervisor.done))
    this.#drain.empty()
  }

  #onEffect(effect: DrainEffect): void {
    if (effect === 'wedged') this.#reportWedged()
    else for (const supervisor of this.#supervisors) supervisor.hardAbort(shutdown())
  }

  #noteCleaning(): void {
    if (this.#supervisors.every((supervisor) => supervisor.isCleaning)) this.#drain.cleaning()
  }

  #reportWedged(): void {
    const tasks = this.#supervisors.flatMap((supervisor) => supervisor.liveTasks())
    this.#options.onWedged(new WedgedError('The always-on controllers', tasks))
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
          `controller ${controller} failed: ${textOf(error)}${remedyFor(error)}`,
        ),
      failedWhileEnding: (error, task) =>
        logger.error({ controller, task, err: error }, 'task failed while its controller ended'),
      gaveUp: onFailure,
      cleaning: () => this.#noteCleaning(),
      cleanupOverdue: () => this.#drain.cleanupOverdue(),
      stepDown: () => {},
    }
  }
}
