import { AlreadyStartedError } from '../already-started-error.ts'
import { Candidacy } from '../candidacy/candidacy.ts'
import type { StepDownResult } from '../candidacy/step-down.ts'
import type { CandidacyEvent, CandidacyState } from '../candidacy/events.ts'
import { LEASE_OPTION_NAMES, type LeaseOptions } from '../candidacy/lease-options.ts'
import type { LeadershipLostError, WedgedError } from '../candidacy/wedged-error.ts'
import type { ControllerFactory } from '../controller/controller.ts'
import { REGISTER_OPTION_NAMES, type RegisterOptions } from '../controller/registration.ts'
import { errorOf } from '../error-of.ts'
import type { FeatureGates } from '../feature-gates.ts'
import { HealthProbe } from '../health/health-probe.ts'
import { HealthRegistry } from '../health/health-registry.ts'
import { assertKnownKeys } from '../options/known-keys.ts'
import { assertBoolean, assertOneOf } from '../options/one-of.ts'
import { OptionsError } from '../options/options-error.ts'
import type { TaskScope } from '../term/task-scope.ts'
import type { StepDownOptions } from '../term/term.ts'
import { textOf } from '../text-of.ts'
import { Watchdog, type WatchdogOptions } from '../watchdog/watchdog.ts'
import { AlwaysOn } from './always-on.ts'
import { electorConfig } from './elector-config.ts'
import type { Extension, ExtensionHost } from './extension.ts'
import { Extensions } from './extensions.ts'
import { type ManagerOptions, type ResolvedManagerOptions, resolveManagerOptions } from './manager-options.ts'
import { ReadinessProbe } from './readiness.ts'

/** The number of candidacies that start together, and the pause before the next ones. */
const STARTED_AT_ONCE = 10
const START_PAUSE_MS = 20

/**
 * Starts and stops the candidacies, always-on controllers and extensions of a process, in order. A process has one manager.
 *
 * Starts extensions, then always-on controllers, then candidacies. Stops in reverse, so that a term drains while everything that it uses
 * still runs.
 */
export class Manager implements ExtensionHost, AsyncDisposable {
  readonly identity: string
  readonly featureGates: FeatureGates
  /** The checks of `/livez`. They fail only for problems that a restart of the process would fix. */
  readonly livez: HealthProbe = new HealthProbe()
  /** The checks of `/readyz`. They never depend on leadership. */
  readonly readyz: HealthProbe
  readonly #options: ResolvedManagerOptions
  readonly #candidacies: Candidacy[] = []
  /** The candidacy for the lease of the options. */
  readonly #own: Candidacy
  readonly #listeners = new Set<(event: CandidacyEvent) => void>()
  readonly #extensions: Extensions
  readonly #alwaysOn: AlwaysOn
  readonly #stopRequested = Promise.withResolvers<void>()
  readonly #beyondStopping = Promise.withResolvers<void>()
  readonly #failures: Error[] = []
  #watchdog: Watchdog | undefined
  #running: Promise<void> | undefined
  #stopping: Promise<void> | undefined
  #isStopping = false
  readonly #readiness = new ReadinessProbe({ candidacies: this.#candidacies, isStopping: () => this.#isStopping })

  /** Checks all options. Does no I/O and starts nothing. @throws OptionsError that names the wrong option. */
  constructor(options: ManagerOptions) {
    const resolved = resolveManagerOptions(options)
    const { identity, featureGates, groups } = resolved
    const onFailure = (error: unknown) => this.#fail(error)
    this.#options = resolved
    this.identity = identity
    this.featureGates = featureGates
    this.readyz = this.#readiness
    this.#extensions = new Extensions({ groups, clock: resolved.clock, onFailure })
    this.#alwaysOn = new AlwaysOn({
      ...resolved,
      timing: groups.alwaysOn,
      extensions: this.#extensions.termExtensions,
      onFailure,
      onWedged: (error) => this.#fatal(error),
    })
    this.#own = this.#addCandidacy(options.lease)
    this.#registerChecks()
  }

  /** The state of the candidacy for the manager's own lease. */
  get state(): CandidacyState {
    return this.#own.state
  }

  /** All candidacies; the manager's own lease comes first. */
  get candidacies(): readonly Candidacy[] {
    return this.#candidacies
  }

  /**
   * Adds a controller, before `start()`.
   * @throws AlreadyStartedError after `start()`. @throws OptionsError for a value that is not a factory, or a wrong option.
   */
  register(factory: ControllerFactory, options: RegisterOptions & { readonly needsLeadership?: boolean } = {}): this {
    assertKnownKeys('`register()`', options, [...REGISTER_OPTION_NAMES, 'needsLeadership'])
    const { needsLeadership = true, ...rest } = options
    assertBoolean('needsLeadership', needsLeadership)
    this.#assertNotStarted('register()')
    if (needsLeadership) this.#own.register(factory, rest)
    else this.#alwaysOn.register(factory, rest)
    return this
  }

  /**
   * Adds an extension, before `start()`: a server, a cache, an observer, or something that every term gets.
   * @throws AlreadyStartedError after `start()`. @throws OptionsError for a value that is not an extension, or was added before.
   */
  use(extension: Extension): this {
    this.#assertNotStarted('use()')
    this.#extensions.use(extension)
    return this
  }

  /**
   * Adds a candidacy for another lease, with its own controllers.
   * @throws OptionsError when the manager already competes for the lease, or an option is wrong. @throws AlreadyStartedError after
   * `start()`.
   */
  candidacy(lease: LeaseOptions): Candidacy {
    this.#assertNotStarted('candidacy()')
    return this.#addCandidacy(lease)
  }

  /**
   * Calls `listener` with every event of every candidacy. The returned function removes the listener. If a listener throws, the manager
   * logs the error and calls the others. There are no events after `start()` has settled.
   */
  on(listener: (event: CandidacyEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /**
   * Runs until `stop()` is called. Resolves after a clean stop. Otherwise rejects with the cause when everything is closed. Several
   * causes are an `AggregateError`, in order of occurrence.
   * @throws AlreadyStartedError (as a rejection) when called twice, or after `stop()`.
   */
  start(): Promise<void> {
    if (this.#running !== undefined || this.#isStopping) {
      return Promise.reject(
        new AlreadyStartedError('Expected `start()` to be called once, on a manager that was not stopped'),
      )
    }
    this.#running = this.#run()
    return this.#outsideWait('start()', this.#running)
  }

  /**
   * Drains the terms, releases the leases and closes everything. Every caller gets the same promise. It never rejects; failures reject
   * `start()`. One exception: a task of this manager that awaits it would wait for itself, and gets a `SelfWaitError` halfway through the
   * grace period after the hard abort.
   */
  stop(): Promise<void> {
    this.#isStopping = true
    this.#stopRequested.resolve()
    this.#stopping ??= this.#outsideWait(
      'stop()',
      (this.#running ?? Promise.resolve()).catch(() => {}),
    )
    return this.#stopping
  }

  /**
   * Ends the present term of the manager's own lease voluntarily and follows again. Resolves when nothing of the term is left. Without a
   * term it resolves immediately with `not-leading`: on a follower, before `start()` and after `stop()`. A task of the term must not
   * await it. Use `term.stepDown()` there.
   * @throws OptionsError when an option is wrong.
   * @throws SelfWaitError (as a rejection, halfway through the grace period after the hard abort) in a task of the term that awaits it.
   */
  stepDown(options: StepDownOptions = {}): Promise<StepDownResult> {
    return this.#own.stepDown(options)
  }

  /** Stops the manager, as `stop()` does. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  #assertNotStarted(call: string): void {
    if (this.#running === undefined && !this.#isStopping) return
    throw new AlreadyStartedError(`Expected \`${call}\` to be called before \`start()\` and \`stop()\``)
  }

  /** Wraps a promise that waits for the tasks of the manager. A task that awaits it gets a `SelfWaitError`. */
  #outsideWait<T>(call: string, promise: Promise<T>): Promise<T> {
    const ofAny = (scope: TaskScope): AbortSignal | undefined =>
      [this.#alwaysOn, ...this.#candidacies]
        .map((part) => part.hardSignalOf(scope))
        .find((signal) => signal !== undefined)
    return this.#own.outsideWait(call, promise, ofAny)
  }

  async #run(): Promise<void> {
    try {
      if (this.#options.watchdog !== undefined) this.#watchdog = await this.#startWatchdog(this.#options.watchdog)
      await this.#extensions.start(this, () => this.#isStopping)
      if (!this.#isStopping) {
        this.#alwaysOn.start()
        this.#startCandidacies().catch((error: unknown) => this.#fail(error))
      }
      await this.#stopRequested.promise
    } catch (error) {
      this.#fail(error)
    }
    this.#isStopping = true
    // Work that cannot be stopped must not keep `stop()` pending.
    const isStopped = await Promise.race([this.#stopWork().then(() => true), this.#beyondStopping.promise])
    await this.#extensions.stop()
    // The watchdog keeps guarding tasks that cannot be stopped.
    if (isStopped === true) await this.#watchdog?.stop()
    this.#listeners.clear()
    if (this.#failures.length > 0) throw oneOf(this.#failures)
  }

  /**
   * Starts many candidacies a few at a time, because leases that are acquired together are renewed together from then on. The pace is
   * that of renewing a thousand leases at the default period.
   */
  async #startCandidacies(): Promise<void> {
    for (const [index, candidacy] of this.#candidacies.entries()) {
      if (index > 0 && index % STARTED_AT_ONCE === 0) await this.#pauseUnlessStopping(START_PAUSE_MS)
      if (this.#isStopping) return
      candidacy.start()
    }
  }

  async #pauseUnlessStopping(delayMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = this.#options.clock.setTimer(delayMs, resolve)
    await Promise.race([promise, this.#stopRequested.promise])
    timer.cancel()
  }

  async #stopWork(): Promise<void> {
    const stops = await Promise.allSettled(this.#candidacies.map((candidacy) => candidacy.stop()))
    for (const stop of stops) if (stop.status === 'rejected') this.#fail(stop.reason)
    await this.#alwaysOn.stop()
  }

  #startWatchdog(options: WatchdogOptions): Promise<Watchdog> {
    return Watchdog.start({
      ...options,
      names: this.#candidacies.map(({ lease }) => lease),
      clock: this.#options.clock,
      logger: this.#options.logger,
      onDied: (error) => this.#fail(error),
    })
  }

  /** Calls every listener, even if one throws. */
  #tell(event: CandidacyEvent): void {
    for (const listener of [...this.#extensions.listeners, ...this.#listeners]) {
      try {
        listener(event)
      } catch (err) {
        this.#options.logger.error({ lease: event.lease, event: event.kind, err }, `a listener failed: ${textOf(err)}`)
      }
    }
  }

  /** Stops the manager in order. `start()` then rejects with the cause. */
  #fail(cause: unknown): void {
    const error = errorOf(cause)
    this.#options.logger.error({ event: 'failed', err: error }, textOf(error))
    this.#failures.push(error)
    this.#stopRequested.resolve()
  }

  #fatal(error: LeadershipLostError | WedgedError): void {
    this.#options.logger.error({ event: 'fatal', err: error }, error.message)
    try {
      if (this.#options.terminate !== undefined) return this.#options.terminate(error)
    } catch (cause) {
      this.#fail(cause)
    }
    this.#fail(error)
    this.#beyondStopping.resolve()
  }

  #addCandidacy(lease: LeaseOptions): Candidacy {
    assertKnownKeys('`lease`', lease, LEASE_OPTION_NAMES)
    assertBoolean('proveDeath', lease.proveDeath)
    assertOneOf('missingLease', lease.missingLease, ['create', 'wait'])
    if (typeof lease.name !== 'string' || lease.name === '') {
      throw OptionsError.expected(`\`lease.name\` to be a text that is not empty`, lease.name)
    }
    if (this.#candidacies.some((other) => other.lease === lease.name)) {
      throw new OptionsError(`Expected one candidacy for each lease, got \`${lease.name}\` twice`)
    }
    const candidacy = this.#createCandidacy(lease)
    this.#candidacies.push(candidacy)
    return candidacy
  }

  #createCandidacy(lease: LeaseOptions): Candidacy {
    const { featureGates, groups, createLock, ...shared } = this.#options
    const candidacy = new Candidacy({
      ...shared,
      lease,
      createLock: () => createLock(lease),
      config: electorConfig(lease, this.#options),
      isReady: () => this.#readiness.isPassing,
      warmUpStopTimeoutMs: groups.warmUp.stopTimeoutMs,
      gates: featureGates,
      extensions: this.#extensions.termExtensions,
      guard: () => this.#watchdog?.guard(lease.name),
      onEvent: (event) => this.#tell(event),
      onFailure: (error) => this.#fail(error),
      onFatal: (error) => this.#fatal(error),
    })
    this.livez.add(candidacy.health, this.#candidacies.length === 0 ? '' : `${lease.name}.`)
    return candidacy
  }

  #registerChecks(): void {
    const live = new HealthRegistry()
    live.register('ping', () => {})
    this.livez.add(live)
    this.livez.add(this.#alwaysOn.health)
  }
}

/** A single failure as it is; several as an `AggregateError` whose cause is the first. */
function oneOf(failures: readonly Error[]): Error {
  const [first] = failures
  if (first !== undefined && failures.length === 1) return first
  const messages = failures.map(textOf).join('; ')
  return new AggregateError(failures, `${failures.length} failures: ${messages}`, { cause: first })
}
