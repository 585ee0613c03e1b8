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
import { ControllerSupervisor, type SupervisorObserver } from '../controller/supervisor.ts'
import { LeadershipEndedError } from '../election/leadership-ended-error.ts'
import { HealthProbe } from '../health/health-probe.ts'
import type { Clock } from '../ports/clock.ts'
import type { Logger } from '../ports/logger.ts'
import type { Random } from '../ports/random.ts'
import type { TermExtension } from '../term/term-extension.ts'

/** What {@link AlwaysOn} is made of. */
export interface AlwaysOnOptions {
  readonly identity: string
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly restart: ResolvedRestartOptions
  readonly extensions: readonly TermExtension[]
  readonly onFailure: (error: Error) => void
  /** Called when tasks are left that do not end. */
  readonly onWedged: (error: WedgedError) => void
}

/** How long controllers that need no leadership may take to stop before they are told to drop what is in flight. */
const DRAIN_MS = 20_000

/** How long they may take to react to that. */
const ABORT_GRACE_MS = 4000

/** The controllers that run from start to stop of the manager, whoever leads. */
export class AlwaysOn {
  /** The health checks of the controllers. */
  readonly health: HealthProbe = new HealthProbe()
  readonly #options: AlwaysOnOptions
  readonly #registrations: Registration[] = []
  readonly #seen = new WeakSet<Controller>()
  #supervisors: readonly ControllerSupervisor[] = []

  constructor(options: AlwaysOnOptions) {
    this.#options = options
  }

  /** Adds a controller. @throws OptionsError for a factory that is not a function, or bad options. */
  register(factory: ControllerFactory, options: RegisterOptions): void {
    this.#registrations.push(createRegistration(factory, options, this.#options.restart))
  }

  /** Runs them. @throws OptionsError when one of them can never run. */
  start(): void {
    const builds = buildAll(this.#registrations, this.#seen)
    this.#supervisors = builds.map((build) => {
      const name = build.kind === 'built' ? build.controller.name : build.name
      const supervisor = new ControllerSupervisor({
        ...this.#options,
        name,
        lease: this.#options.identity,
        leadership: undefined,
        build: () => buildNext(build.registration, this.#seen),
        restart: build.registration.restart,
        restartDrainMs: DRAIN_MS,
        observer: this.#observerOf(name),
      })
      supervisor.start(build.kind === 'built' ? build.controller : undefined)
      return supervisor
    })
  }

  /** Ends them; resolves when nothing of them is left. */
  async stop(): Promise<void> {
    const reason = new LeadershipEndedError('shutdown', 0n)
    for (const supervisor of this.#supervisors) supervisor.end(reason)
    const { clock } = this.#options
    const abort = clock.setTimer(DRAIN_MS, () => {
      for (const supervisor of this.#supervisors) supervisor.hardAbort(reason)
    })
    const wedge = clock.setTimer(DRAIN_MS + ABORT_GRACE_MS, () => this.#reportWedged())
    await Promise.all(this.#supervisors.map((supervisor) => supervisor.done))
    abort.cancel()
    wedge.cancel()
  }

  #reportWedged(): void {
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
          `controller ${controller} failed`,
        ),
      failedWhileEnding: (error, task) =>
        logger.error({ controller, task, err: error }, 'task failed while its controller ended'),
      gaveUp: onFailure,
      stepDown: () => {},
    }
  }
}
