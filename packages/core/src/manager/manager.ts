import { AlreadyStartedError } from '../already-started-error.ts'
import { Candidacy } from '../candidacy/candidacy.ts'
import type { StepDownResult } from '../candidacy/step-down.ts'
import type { CandidacyEvent, CandidacyState } from '../candidacy/events.ts'
import { LEASE_OPTION_NAMES, type LeaseOptions, resolveCleanupTimeoutMs } from '../candidacy/lease-options.ts'
import type { LeadershipLostError, WedgedError } from '../candidacy/wedged-error.ts'
import type { ControllerFactory } from '../controller/controller.ts'
import { REGISTER_OPTION_NAMES, type RegisterOptions } from '../controller/registration.ts'
import { resolveTimingOptions } from '../election/timing-options.ts'
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
import type { Extension, ExtensionHost } from './extension.ts'
import { Extensions } from './extensions.ts'
import { type ManagerOptions, type ResolvedManagerOptions, resolveManagerOptions } from './manager-options.ts'
import { readinessChecks } from './readiness.ts'

/** How many candidacies are started in one go, and how long the next ones wait. */
const STARTED_AT_ONCE = 10
const START_PAUSE_MS = 20

/**
 * One per process: its candidacies, its always-on controllers, its extensions, and their order of start and stop.
 *
 * Starts extensions, then always-on controllers, then stands for election. Stops in reverse, so that a term drains while everything it
 * uses still runs.
 */
export class Manager implements ExtensionHost, AsyncDisposable {
  readonly identity: string
  readonly featureGates: FeatureGates
  /** What `/livez` serves: fails only for what a restart of the process would mend. */
  readonly livez: HealthProbe = new HealthProbe()
  /** What `/readyz` serves. Never depends on leading. */
  readonly readyz: HealthProbe = new HealthProbe()
  readonly #options: ResolvedManagerOptions
  readonly #candidacies: Candidacy[] = []
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

  /** Checks all options; does no I/O and starts nothing. @throws OptionsError naming the option that is wrong. */
  constructor(options: ManagerOptions) {
    const resolved = resolveManagerOptions(options)
    const { identity, featureGates, groups } = resolved
    const onFailure = (error: unknown) => this.#fail(error)
    this.#options = resolved
    this.identity = identity
    this.featureGates = featureGates
    this.#extensions = new Extensions({ groups, clock: resolved.clock, onFailure })
    this.#alwaysOn = new AlwaysOn({
      ...resolved,
      timing: groups.alwaysOn,
      extensions: this.#extensions.termExtensions,
      onFailure,
      onWedged: (error) => this.#fatal(error),
    })
    this.#addCandidacy(options.lease)
    this.#registerChecks()
  }

  /** What the candidacy for the manager's own lease is doing. */
  get state(): CandidacyState {
    return this.#own.state
  }

  /** All candidacies; the manager's own lease comes first. */
  get candidacies(): readonly Candidacy[] {
    return this.#candidacies
  }

  /**
   * Adds a controller, before `start()`.
   * @throws AlreadyStartedError after the start. @throws OptionsError for anything that is not a factory.
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
   * Adds an extension, before `start()`: a server, a cache, an observer, or what every term gets.
   * @throws AlreadyStartedError after the start. @throws OptionsError for a value that is no extension, or that was added before.
   */
  use(extension: Extension): this {
    this.#assertNotStarted('use()')
    this.#extensions.use(extension)
    return this
  }

  /**
   * Stands for another lease, with controllers of its own.
   * @throws OptionsError when the manager stands for the lease already or an option is wrong. @throws AlreadyStartedError after the start.
   */
  candidacy(lease: LeaseOptions): Candidacy {
    this.#assertNotStarted('candidacy()')
    return this.#addCandidacy(lease)
  }

  /**
   * Calls `listener` with everything that happens to any candidacy. Returns the function that ends that. A listener that throws is
   * logged, and the others are called. Nothing happens any more once `start()` has settled.
   */
  on(listener: (event: CandidacyEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /**
   * Runs until `stop()` is called. Resolves after a clean stop; rejects with the cause otherwise, once everything is closed: with
   * an `AggregateError` where there are several, in the order in which they came.
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
   * Drains, releases, closes. Every caller gets the same promise. Never rejects: what went wrong is what `start()` rejects with. Only a
   * task of this manager that awaits it, and would wait for itself, gets a `SelfWaitError` halfway through the grace of the hard abort.
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
   * Ends the present term of the manager's own lease voluntarily, and follows again. Resolves at once with `not-leading` where there
   * is none: on a follower, before `start()` and after `stop()`. Resolves otherwise once nothing of the term is left, so a
   * task of the term must not await it: use `term.stepDown()` there.
   * @throws OptionsError when an option is wrong. @throws SelfWaitError (as a rejection, halfway through the grace of the hard abort) in
   * a task of the term that awaits it.
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

  /** What ends with the manager is not waited for by its tasks. */
  #outsideWait<T>(call: string, promise: Promise<T>): Promise<T> {
    const ofAny = (scope: TaskScope): AbortSignal | undefined =>
      [this.#alwaysOn, ...this.#candidacies]
        .map((part) => part.hardSignalOf(scope))
        .find((signal) => signal !== undefined)
    return this.#own.outsideWait(call, promise, ofAny)
  }

  get #own(): Candidacy {
    const [own] = this.#candidacies
    if (own === undefined) throw new OptionsError('Expected the manager to have a lease')
    return own
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
    // What is beyond stopping must not keep the caller from hearing of it.
    const isStopped = await Promise.race([
      this.#stopWork().then(() => true),
      this.#beyondStopping.promise.then(() => false),
    ])
    await this.#extensions.stop()
    // Over tasks that are beyond stopping the watchdog goes on.
    if (isStopped) await this.#watchdog?.stop()
    this.#listeners.clear()
    if (this.#failures.length > 0) throw oneOf(this.#failures)
  }

  /**
   * Starts many candidacies a few at a time: what begins together renews together, for as long as it lasts. The pace is that at
   * which a thousand leases are renewed at the default period.
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

  /** A listener that fails keeps nobody else from hearing. */
  #tell(event: CandidacyEvent): void {
    for (const listener of [...this.#extensions.listeners, ...this.#listeners]) {
      try {
        listener(event)
      } catch (err) {
        this.#options.logger.error({ lease: event.lease, event: event.kind, err }, `a listener failed: ${textOf(err)}`)
      }
    }
  }

  /** The manager stops in order, and `start()` rejects with what has failed. */
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
      throw new OptionsError(`Expected every lease to be stood for once, got \`${lease.name}\` twice`)
    }
    const candidacy = this.#createCandidacy(lease)
    this.#candidacies.push(candidacy)
    return candidacy
  }

  #createCandidacy(lease: LeaseOptions): Candidacy {
    const { identity, revision, rollout, featureGates, groups, createLock, ...shared } = this.#options
    const candidacy = new Candidacy({
      ...shared,
      lease,
      createLock: () => createLock(lease),
      config: {
        identity,
        timing: resolveTimingOptions(lease),
        releaseOnExit: featureGates.ReleaseLockOnExit.enabled,
        missingLease: lease.missingLease ?? 'create',
        cleanupTimeoutMs: resolveCleanupTimeoutMs(lease),
        onWedged: this.#options.onWedged,
        revision,
        isEager: rollout === 'eager',
      },
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
    this.readyz.add(readinessChecks({ candidacies: this.#candidacies, isStopping: () => this.#isStopping }))
  }
}

/** The failure itself where it is the only one. The first one is the cause of an aggregate. */
function oneOf(failures: readonly Error[]): Error {
  const [first] = failures
  if (first !== undefined && failures.length === 1) return first
  const messages = failures.map(textOf).join('; ')
  return new AggregateError(failures, `${failures.length} failures: ${messages}`, { cause: first })
}
