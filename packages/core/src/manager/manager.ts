import { AlreadyStartedError } from '../already-started-error.ts'
import { Candidacy, type StepDownResult } from '../candidacy/candidacy.ts'
import type { WedgedPolicy } from '../candidacy/candidacy-options.ts'
import type { CandidacyEvent, CandidacyState } from '../candidacy/events.ts'
import { LEASE_OPTION_NAMES, type LeaseOptions, resolveCleanupTimeoutMs } from '../candidacy/lease-options.ts'
import type { LeadershipLostError, WedgedError } from '../candidacy/wedged-error.ts'
import type { ControllerFactory } from '../controller/controller.ts'
import { REGISTER_OPTION_NAMES, type RegisterOptions } from '../controller/registration.ts'
import { resolveRestartOptions, type RestartOptions } from '../controller/restart-options.ts'
import { resolveTimingOptions } from '../election/timing-options.ts'
import { errorOf } from '../error-of.ts'
import { type FeatureGates, type FeatureGateSettings, resolveFeatureGates } from '../feature-gates.ts'
import { HealthProbe } from '../health/health-probe.ts'
import { HealthRegistry } from '../health/health-registry.ts'
import type { Lock } from '../lock/lock.ts'
import { assertKnownKeys } from '../options/known-keys.ts'
import { assertBoolean, assertOneOf } from '../options/one-of.ts'
import { OptionsError } from '../options/options-error.ts'
import { type Clock, systemClock } from '../ports/clock.ts'
import { type Logger, silentLogger } from '../ports/logger.ts'
import { type Random, systemRandom } from '../ports/random.ts'
import { safeLogger } from '../ports/safe-logger.ts'
import type { TaskScope } from '../term/task-scope.ts'
import type { TermExtension } from '../term/term-extension.ts'
import type { StepDownOptions } from '../term/term.ts'
import { textOf } from '../text-of.ts'
import { Watchdog, type WatchdogOptions } from '../watchdog/watchdog.ts'
import { AlwaysOn } from './always-on.ts'
import { type GroupOptions, type ResolvedGroupOptions, resolveGroupOptions } from './group-options.ts'
import { RunningServices } from './running-services.ts'
import { type Service, SERVICE_GROUPS } from './service.ts'

/** How many candidacies are started in one go, and how long the next ones wait. */
const STARTED_AT_ONCE = 10
const START_PAUSE_MS = 20

/** Options of a {@link Manager}. */
export interface ManagerOptions {
  /** Unique to this start of this process. */
  readonly identity: string
  /** The lease that `register()` is about. Others are added with `candidacy()`. */
  readonly lease: LeaseOptions
  /** Makes the lock of a lease. Called once for each lease, after the services have started. */
  readonly createLock: (lease: LeaseOptions) => Lock
  /** @default every gate at its default */
  readonly featureGates?: FeatureGateSettings
  /** What to do about a drain that does not end in time. @default 'exit' */
  readonly onWedged?: WedgedPolicy
  /**
   * A thread that ends the process when a term was not confirmed by `validUntil`, as when the event loop is blocked. It needs
   * worker threads. With it, a wedged term may end by SIGKILL instead of with an exit code. @default false
   */
  readonly watchdog?: boolean | WatchdogOptions
  /** How often failed controllers are restarted. */
  readonly restart?: RestartOptions
  /** Started in order before anything stands for election, stopped in reverse after everything else. @default none */
  readonly services?: readonly Service[]
  /** How long each group may take to stop. */
  readonly groups?: GroupOptions
  /** @default none */
  readonly extensions?: readonly TermExtension[]
  /**
   * Ends the process at once. Called when that is the only way left to keep two leaders apart. Where none is given, `start()`
   * rejects and the caller must see to it.
   */
  readonly terminate?: (error: LeadershipLostError | WedgedError) => void
  /** @default a logger that drops every line */
  readonly logger?: Logger
  /** @default that of this machine */
  readonly clock?: Clock
  /** @default that of this process */
  readonly random?: Random
}

const MANAGER_OPTION_NAMES = [
  'identity',
  'lease',
  'createLock',
  'featureGates',
  'onWedged',
  'watchdog',
  'restart',
  'services',
  'groups',
  'extensions',
  'terminate',
  'logger',
  'clock',
  'random',
] as const satisfies (keyof ManagerOptions)[]

/**
 * One per process: its candidacies, its controllers that need no leadership, its services, and their order of start and stop.
 *
 * Starts services, then always-on controllers, then stands for election; stops in reverse, so that a term drains while all that
 * it relies on is still there.
 */
export class Manager implements AsyncDisposable {
  readonly identity: string
  readonly featureGates: FeatureGates
  /** What `/livez` serves: fails only for what a restart of the process would mend. */
  readonly livez: HealthProbe = new HealthProbe()
  /** What `/readyz` serves. Never depends on leading. */
  readonly readyz: HealthProbe = new HealthProbe()
  readonly #options: ManagerOptions
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #candidacies: Candidacy[] = []
  readonly #listeners = new Set<(event: CandidacyEvent) => void>()
  readonly #alwaysOn: AlwaysOn
  readonly #groups: ResolvedGroupOptions
  readonly #services: RunningServices
  readonly #stopRequested = Promise.withResolvers<void>()
  readonly #beyondStopping = Promise.withResolvers<void>()
  readonly #failures: Error[] = []
  readonly #watchdogOptions: WatchdogOptions | undefined
  #watchdog: Watchdog | undefined
  #running: Promise<void> | undefined
  #stopping: Promise<void> | undefined
  #isStopping = false

  /** Checks all options; does no I/O and starts nothing. @throws OptionsError naming the option that is wrong. */
  constructor(options: ManagerOptions) {
    assertKnownKeys('the options of a Manager', options, MANAGER_OPTION_NAMES, { lease: LEASE_OPTION_NAMES })
    if (typeof options.identity !== 'string' || options.identity.trim() === '') {
      throw OptionsError.expected(`\`identity\` to be a text that is not empty`, options.identity)
    }
    if (typeof options.createLock !== 'function') {
      throw OptionsError.expected('`createLock` to be a function that makes the lock of a lease', options.createLock)
    }
    this.#options = options
    this.identity = options.identity
    this.featureGates = resolveFeatureGates(options.featureGates)
    assertOneOf('onWedged', options.onWedged, ['exit', 'hold', 'abandon'])
    this.#watchdogOptions = resolveWatchdogOptions(options.watchdog)
    this.#clock = options.clock ?? systemClock
    this.#logger = safeLogger(options.logger ?? silentLogger).child({ identity: options.identity })
    this.#groups = resolveGroupOptions(options.groups)
    const { services = [] } = options
    if (!Array.isArray(services)) throw OptionsError.expected('`services` to be an array', services)
    for (const service of services) assertOneOf('group', service.group, SERVICE_GROUPS)
    this.#services = new RunningServices({
      services,
      groups: this.#groups,
      clock: this.#clock,
      onFailure: (error) => this.#fail(error),
    })
    this.#alwaysOn = new AlwaysOn({
      timing: this.#groups.alwaysOn,
      identity: options.identity,
      clock: this.#clock,
      random: options.random ?? systemRandom,
      logger: this.#logger,
      restart: resolveRestartOptions(options.restart),
      extensions: options.extensions ?? [],
      onFailure: (error) => this.#fail(error),
      onWedged: (error) => this.#fatal(error),
    })
    this.candidacy(options.lease)
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
   * Stands for another lease, with controllers of its own.
   * @throws OptionsError when the lease is stood for already or an option is wrong. @throws AlreadyStartedError after the start.
   */
  candidacy(lease: LeaseOptions): Candidacy {
    this.#assertNotStarted('candidacy()')
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
      if (this.#watchdogOptions !== undefined) this.#watchdog = await this.#startWatchdog(this.#watchdogOptions)
      await this.#services.start(() => this.#isStopping)
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
    await this.#services.stop()
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
    const timer = this.#clock.setTimer(delayMs, resolve)
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
      clock: this.#clock,
      logger: this.#logger,
      onDied: (error) => this.#fail(error),
    })
  }

  /** A listener that fails keeps nobody else from hearing. */
  #tell(event: CandidacyEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event)
      } catch (err) {
        this.#logger.error({ lease: event.lease, event: event.kind, err }, `a listener failed: ${textOf(err)}`)
      }
    }
  }

  /** The manager stops in order, and `start()` rejects with what has failed. */
  #fail(cause: unknown): void {
    const error = errorOf(cause)
    this.#logger.error({ event: 'failed', err: error }, textOf(error))
    this.#failures.push(error)
    this.#stopRequested.resolve()
  }

  #fatal(error: LeadershipLostError | WedgedError): void {
    this.#logger.error({ event: 'fatal', err: error }, error.message)
    try {
      if (this.#options.terminate !== undefined) return this.#options.terminate(error)
    } catch (cause) {
      this.#fail(cause)
    }
    this.#fail(error)
    this.#beyondStopping.resolve()
  }

  #createCandidacy(lease: LeaseOptions): Candidacy {
    const candidacy = new Candidacy({
      lease,
      createLock: () => this.#options.createLock(lease),
      config: {
        identity: this.identity,
        timing: resolveTimingOptions(lease),
        releaseOnExit: this.featureGates.ReleaseLockOnExit.enabled,
        missingLease: lease.missingLease ?? 'create',
      },
      cleanupTimeoutMs: resolveCleanupTimeoutMs(lease),
      warmUpStopTimeoutMs: this.#groups.warmUp.stopTimeoutMs,
      gates: this.featureGates,
      onWedged: this.#options.onWedged ?? 'exit',
      clock: this.#clock,
      random: this.#options.random ?? systemRandom,
      logger: this.#logger,
      restart: resolveRestartOptions(this.#options.restart),
      extensions: this.#options.extensions ?? [],
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
    const ready = new HealthRegistry()
    ready.register('lease-observed', () => this.#assertLeasesObserved())
    ready.register('lease-writable', () => this.#assertLeasesWritable())
    ready.register('shutdown', () => {
      if (this.#isStopping) throw new Error('the process is shutting down')
    })
    this.readyz.add(ready)
  }

  #assertLeasesWritable(): void {
    const refused = this.#candidacies.find((candidacy) => candidacy.refusal !== undefined)
    if (refused?.refusal === undefined) return
    throw new Error(`the lease \`${refused.lease}\` cannot be acquired: ${refused.refusal.message}`)
  }

  #assertLeasesObserved(): void {
    const waiting = this.#candidacies.find((candidacy) => !candidacy.hasObservedLease)
    if (waiting === undefined) return
    const cause = waiting.lastProblem === undefined ? '' : `: ${textOf(waiting.lastProblem)}`
    throw new Error(`the lease \`${waiting.lease}\` has not been seen yet${cause}`)
  }
}

/** The failure itself where it is the only one. The first one is the cause of an aggregate. */
function oneOf(failures: readonly Error[]): Error {
  const [first] = failures
  if (first !== undefined && failures.length === 1) return first
  const messages = failures.map(textOf).join('; ')
  return new AggregateError(failures, `${failures.length} failures: ${messages}`, { cause: first })
}

function resolveWatchdogOptions(value: boolean | WatchdogOptions = false): WatchdogOptions | undefined {
  if (typeof value === 'boolean') return value ? {} : undefined
  if (typeof value !== 'object' || value === null) {
    throw OptionsError.expected(`\`watchdog\` to be true, false or options`, value)
  }
  assertKnownKeys('`watchdog`', value, ['markerFile'])
  const { markerFile } = value
  if (markerFile === undefined || (typeof markerFile === 'string' && markerFile !== '')) return value
  throw OptionsError.expected(`\`watchdog.markerFile\` to be the path of a file`, markerFile)
}
