import type { Controller } from '../controller/controller.ts'
import type { Registration } from '../controller/registration.ts'
import type { SupervisorObserver } from '../controller/supervisor-observer.ts'
import type { ControllerWarmUp } from '../controller/warm-up.ts'
import { Drain } from '../drain/drain.ts'
import type { Elector, TermEffect } from '../election/elector.ts'
import type { EndReason } from '../election/leadership-ended-error.ts'
import { cleanupBudget } from '../election/machine/config.ts'
import { errorOf, isA } from '../error-of.ts'
import type { HealthProbe } from '../health/health-probe.ts'
import { OptionsError } from '../options/options-error.ts'
import { Leadership } from '../term/leadership.ts'
import type { StepDownOptions } from '../term/term.ts'
import type { DeadlineGuard } from '../watchdog/watchdog.ts'
import type { CandidacyOptions } from './candidacy-options.ts'
import type { CandidacyEvent, TermOverEvent } from './events.ts'
import { TermControllers, type TermControllersOptions } from './term-controllers.ts'
import type { WarmUps } from './warm-ups.ts'
import { LeadershipLostError } from './wedged-error.ts'

/** Options of a {@link PresentTerm}. */
export interface PresentTermOptions extends CandidacyOptions {
  readonly registrations: readonly Registration[]
  /** Every controller that was ever built for the lease. */
  readonly seen: WeakSet<Controller>
  /** Where the health checks of the controllers are served. */
  readonly health: HealthProbe
  readonly elector: Pick<Elector, 'cleaning' | 'cleanupOverdue' | 'drained' | 'lose' | 'stepDown'>
  readonly warmUps: Pick<WarmUps, 'current' | 'handOver'>
  readonly emit: (event: DistributiveOmit<CandidacyEvent, 'lease'>) => void
  readonly stepDown: (options: StepDownOptions) => void
}

/** An event before the name of its lease is added. */
export type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never

/**
 * The present term of this replica, if it leads. Carries out what the machine decides about the term, and reports the progress of its
 * work to the machine.
 *
 * Owns the controllers of the term, its validity and the guard of its deadline. Decides nothing.
 */
export class PresentTerm {
  readonly #options: PresentTermOptions
  #controllers: TermControllers | undefined
  #guard: DeadlineGuard | undefined

  constructor(options: PresentTermOptions) {
    this.#options = options
  }

  /** The controllers of the term; undefined outside of terms. */
  get controllers(): TermControllers | undefined {
    return this.#controllers
  }

  /** Sets until when this replica may act. */
  setValidity(validUntil: number, change: 'extend' | 'shorten'): void {
    this.#controllers?.leadership[change](validUntil)
    this.#guard?.hold(validUntil)
  }

  /** Builds the controllers and runs them. */
  begin({ epoch, validUntil, handoverMs, legacy }: Extract<TermEffect, { kind: 'begin-term' }>): void {
    const { clock, elector, guard, lease, onFailure, registrations, warmUps } = this.#options
    this.#guard = guard?.()
    this.#guard?.hold(validUntil)
    const onExpired = () => elector.lose('stalled')
    const leadership = new Leadership({ epoch, lease: lease.name, validUntil, clock, onExpired, legacy })
    try {
      this.#controllers = this.#build(leadership, { registrations, warmUps: warmUps.current })
      warmUps.handOver()
    } catch (error) {
      // A controller can never run. The term stays empty, and the manager stops.
      this.#controllers = this.#build(leadership, {
        registrations: [],
        warmUps: new Map<Registration, ControllerWarmUp>(),
      })
      onFailure(errorOf(error))
    }
    this.#options.emit({ kind: 'term-began', epoch, handoverMs })
    this.#controllers.start()
  }

  #build(leadership: Leadership, parts: Pick<TermControllersOptions, 'registrations' | 'warmUps'>): TermControllers {
    const { config, elector, lease } = this.#options
    const isPresent = (): boolean => this.#controllers?.leadership === leadership
    return new TermControllers({
      ...this.#options,
      ...parts,
      lease: lease.name,
      leadership,
      timing: { ...config.timing, cleanupTimeoutMs: cleanupBudget(config).timeoutMs },
      observe: (controller) => this.#observerOf(controller, isPresent),
      onCleaning: () => {
        if (isPresent()) elector.cleaning()
      },
    })
  }

  /** Tells the controllers to end. */
  end(reason: EndReason, voluntary: boolean): void {
    const controllers = this.#controllers
    if (controllers === undefined) return
    const isFirst = controllers.reason === undefined
    controllers.end(reason, voluntary)
    if (isFirst) {
      this.#options.emit({ kind: 'term-ending', epoch: controllers.leadership.epoch, reason })
      void controllers.done().then(() => this.#onDrained(controllers))
    }
    if (!voluntary) this.#endUnlessGraceful(`The lease \`${this.#options.lease.name}\` was lost: ${reason}`)
  }

  /** The gate closes before the release is sent: untracked work of the user must not write while the next leader acts. */
  #onDrained(controllers: TermControllers): void {
    if (this.#controllers !== controllers) return
    const { leadership } = controllers
    leadership.closeGate(controllers.endReason)
    this.#options.elector.drained(leadership.bequests.leave(leadership.epoch))
  }

  /** Records and reports the tasks that wedged the drain. */
  wedge(): void {
    const controllers = this.#controllers
    if (controllers === undefined) return
    const { tasks } = controllers.wedge()
    this.#options.emit({ kind: 'wedged', epoch: controllers.leadership.epoch, tasks })
  }

  /** Ends the process before another replica may lead. */
  exit(): void {
    const controllers = this.#controllers
    if (controllers?.wedged === undefined) return
    controllers.leadership.closeGate(controllers.endReason)
    this.#options.onFatal(controllers.wedged)
  }

  /** Ends the term. Nothing of it is left, or the remaining tasks are abandoned. */
  over(end: Pick<TermOverEvent, 'outcome' | 'successor'>): void {
    const controllers = this.#controllers
    if (controllers === undefined) return
    this.#guard?.lift()
    this.#guard = undefined
    this.#controllers = undefined
    this.#options.emit(controllers.close(end))
    if (controllers.endReason !== 'shutdown')
      this.#endUnlessGraceful(`The term on \`${this.#options.lease.name}\` is over: ${controllers.endReason}`)
  }

  #endUnlessGraceful(message: string): void {
    const { gates, onFatal } = this.#options
    if (!gates.GracefulLeaderTransition.enabled) onFatal(new LeadershipLostError(message))
  }

  /** A term that was left does not count for the drain of the present one. */
  #observerOf(controller: string, isPresent: () => boolean): SupervisorObserver {
    let removeHealth = () => {}
    return {
      runBegan: (term) => (removeHealth = this.#options.health.add(term.health, `${controller}.`)),
      runOver: () => removeHealth(),
      failed: (error, restartInMs) => this.#options.emit({ kind: 'controller-failed', controller, error, restartInMs }),
      failedWhileEnding: (error, task) =>
        this.#options.logger.error(
          { lease: this.#options.lease.name, controller, task, err: error },
          'task failed while its term ended',
        ),
      gaveUp: (error, cooldownMs) => this.#giveUp(error, cooldownMs),
      cleaning: () => {},
      cleanupOverdue: () => {
        if (isPresent()) this.#options.elector.cleanupOverdue()
      },
      stepDown: this.#options.stepDown,
    }
  }

  /** A replica whose controller failed for good leaves the lease to others for the period over which restarts are counted. */
  #giveUp(error: Error, cooldownMs: number): void {
    if (isA(error.cause, OptionsError)) this.#options.onFailure(error.cause)
    this.#options.elector.stepDown({ reason: 'controller-failed', cooldownMs })
  }

  /**
   * Ends the term after the elector has failed. Nothing renews the lease any more, so the term must be empty before the lease expires.
   * Resolves when the term is empty.
   */
  async endAlone(): Promise<void> {
    const { clock } = this.#options
    const controllers = this.#controllers
    if (controllers === undefined) return
    const drain = new Drain({
      clock,
      onEffect: (effect) => {
        if (effect === 'wedged') this.#wedgedAlone()
        else controllers.hardAbort()
      },
    })
    const now = clock.now()
    const wedgedAt = now + controllers.leadership.remainingMs()
    this.end('elector-failed', false)
    drain.ask({ voluntary: false, abortAt: now, wedgedAt, cleanups: { timeoutMs: Infinity } })
    await controllers.done()
    drain.empty()
    this.over({ outcome: 'expired', successor: undefined })
  }

  #wedgedAlone(): void {
    this.wedge()
    if (this.#options.config.onWedged !== 'abandon') this.exit()
  }
}
