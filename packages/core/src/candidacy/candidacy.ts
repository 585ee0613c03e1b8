import { AlreadyStartedError } from '../already-started-error.ts'
import type { Controller, ControllerFactory } from '../controller/controller.ts'
import { createRegistration, type RegisterOptions, type Registration } from '../controller/registration.ts'
import { Elector, type TermEffect } from '../election/elector.ts'
import { cleanupBudget, type ElectorConfig, forLife } from '../election/machine/config.ts'
import type { StepDown } from '../election/machine/event.ts'
import type { ElectorState } from '../election/machine/state.ts'
import { INITIAL_STATE } from '../election/machine/transition.ts'
import { HealthProbe } from '../health/health-probe.ts'
import { HealthRegistry } from '../health/health-registry.ts'
import { withJsonForm } from '../json-form.ts'
import type { Lock } from '../lock/lock.ts'
import { OutsideWait, type OutsideWaitOptions, type SelfWaitError } from '../term/self-wait.ts'
import type { LiveTask, TaskScope } from '../term/task-scope.ts'
import type { StepDownOptions } from '../term/term.ts'
import { textOf } from '../text-of.ts'
import { assertHealthy } from './assert-healthy.ts'
import type { CandidacyOptions } from './candidacy-options.ts'
import { publishEvent } from './channels.ts'
import { type Choice, choiceOf } from './choice.ts'
import { describeState, isSameState } from './describe-state.ts'
import { EventLog } from './event-log.ts'
import type { CandidacyEvent, CandidacyState } from './events.ts'
import { explain } from './explain.ts'
import { identityTaken } from './identity-taken.ts'
import { LeaseNotices } from './lease-notices.ts'
import type { LeaseOptions } from './lease-options.ts'
import { LiveAttributes } from './live-attributes.ts'
import { LockProblems } from './lock-problems.ts'
import { type DistributiveOmit, PresentTerm } from './present-term.ts'
import { type Standing, standingOf } from './standing.ts'
import { resolveStepDown, steppedDown, type StepDownResult } from './step-down.ts'
import { WarmUps } from './warm-ups.ts'
import { WedgedError } from './wedged-error.ts'

/**
 * Competes for one lease: follows, leads a term, drains it, follows again.
 *
 * Owns the elector and the present term. It decides nothing: it carries out the effects of the elector's machine and reports the progress
 * of the term to it.
 * 1. At most one term at a time: the elector learns that a term is drained only when nothing of it is left.
 * 2. A follower holds no controller.
 */
export class Candidacy {
  /** The name of the lease. */
  readonly lease: string
  /** The options of the lease. */
  readonly leaseOptions: LeaseOptions
  /** The health checks of the present term, and those of the election itself. */
  readonly health: HealthProbe = new HealthProbe()
  readonly #options: CandidacyOptions
  readonly #registrations: Registration[] = []
  readonly #notices: LeaseNotices
  readonly #log: EventLog
  readonly #problems = new LockProblems()
  readonly #attributes: LiveAttributes
  readonly #seen = new WeakSet<Controller>()
  readonly #stopped = Promise.withResolvers<void>()
  #state: CandidacyState = { kind: 'idle' }
  #lock: Lock | undefined
  #elector: Elector | undefined
  #warmUps: WarmUps | undefined
  #term: PresentTerm | undefined

  constructor(options: CandidacyOptions) {
    this.#options = { ...options, onFatal: once(options.onFatal) }
    this.lease = options.lease.name
    this.leaseOptions = options.lease
    this.#log = new EventLog(options)
    this.#attributes = new LiveAttributes(options)
    this.#notices = new LeaseNotices({ logger: options.logger, lease: this.lease })
    const election = new HealthRegistry()
    election.register('leader-election', () => assertHealthy(this.#elector, this.#term?.controllers))
    this.health.add(election)
  }

  /** The state of the candidacy. */
  get state(): CandidacyState {
    return this.#state
  }

  /** The tasks of the present term that have not settled; empty on a follower. */
  liveTasks(): readonly LiveTask[] {
    return this.#term?.controllers?.liveTasks() ?? []
  }

  /** The tasks that block a wedged drain; empty otherwise. */
  stuckTasks(): readonly LiveTask[] {
    return this.#term?.controllers?.wedged === undefined ? [] : this.liveTasks()
  }

  /** Milliseconds for which the present term may act without a further renewal; 0 on a follower. */
  remainingMs(): number {
    return this.#term?.controllers?.leadership.remainingMs() ?? 0
  }

  /** The error of the last request to the lock; undefined after a success. */
  get lastProblem(): Error | undefined {
    return this.#problems.last
  }

  /**
   * Why the last attempt to acquire the lease was refused, if another attempt would be refused too: no permission, no namespace, an
   * invalid object. Undefined once this replica holds the lease.
   */
  get refusal(): Error | undefined {
    return this.#problems.refusal
  }

  /** Whether this replica has seen the lease, and joined its standbys. */
  get standing(): Standing {
    return standingOf(this.#elector?.state)
  }

  /** The settings of the elector, with what the lock says. */
  get #config(): ElectorConfig {
    const { config } = this.#options
    return this.#lock?.heldForLife === true ? forLife(config) : config
  }

  /** How the leader is chosen, as this replica sees it; undefined without a strategy. */
  get choice(): Choice | undefined {
    const { preemptions } = this.#notices
    const pings = this.#lock?.coordinator?.pings
    return choiceOf(this.#elector?.state ?? INITIAL_STATE, { config: this.#currentConfig, pings, preemptions })
  }

  /** Explains in one or two sentences why this replica leads or does not lead. The wording may change at any time. */
  explain(): string {
    const { death, state = INITIAL_STATE } = this.#elector ?? {}
    if (death !== undefined) return `It no longer competes for the lease: ${death.message}.`
    const versionsOf = (identity: string) => this.#lock?.coordinator?.versionsOf?.(identity)
    const context = { config: this.#currentConfig, now: this.#options.clock.now(), tasks: this.liveTasks(), versionsOf }
    return explain(state, { ...context, lastProblem: this.lastProblem ?? this.refusal })
  }

  /**
   * Adds a controller. `factory` builds a new instance for every run.
   * @throws AlreadyStartedError after `start()`. @throws OptionsError for a factory that is not a function, or a wrong option.
   */
  register(factory: ControllerFactory, options: RegisterOptions = {}): this {
    if (this.#lock !== undefined) throw new AlreadyStartedError('Expected `register()` to be called before `start()`')
    this.#registrations.push(createRegistration(factory, options, this.#options.restart))
    return this
  }

  /** Starts to compete for the lease. */
  start(): void {
    this.#notices.started(this.#registrations.length, this.#options.config)
    this.#lock = this.#options.createLock()
    this.#warmUps = this.#createWarmUps()
    this.#elector = new Elector({
      ...this.#options,
      lease: this.lease,
      lock: this.#lock,
      config: this.#config,
      facts: () => this.#facts,
      onEffect: (effect) => this.#carryOut(effect),
      onState: (state) => this.#onState(state),
      onDied: (error) => void this.#onDied(error),
    })
    this.#term = this.#createTerm(this.#elector, this.#warmUps)
    this.#elector.start()
  }

  /** Drains the term, releases the lease and stops. Resolves when nothing is left. */
  async stop(): Promise<void> {
    if (this.#elector === undefined) return
    this.#elector.stop()
    await Promise.all([this.#stopped.promise, this.#warmUps?.stop()])
    await this.#elector.closed()
    await this.#lock?.close()
  }

  /**
   * Ends the present term voluntarily and follows again. Resolves when nothing of the term is left, with how it ended. A second call does
   * not change a term that is already ending. @throws OptionsError when `to` is empty or names this replica, or an option is wrong.
   */
  stepDown(options: StepDownOptions = {}): Promise<StepDownResult> {
    const controllers = this.#term?.controllers
    const ended = this.#endTerm(resolveStepDown(options, this.#options.config))
    return this.outsideWait('stepDown()', ended, (scope) => controllers?.hardSignalOf(scope))
  }

  /** The hard signal of the run or warm-up that owns the scope; undefined if it is not of this candidacy. */
  hardSignalOf(scope: TaskScope): AbortSignal | undefined {
    return this.#term?.controllers?.hardSignalOf(scope) ?? this.#warmUps?.hardSignalOf(scope)
  }

  /** Wraps a promise that waits for tasks: a task among them that awaits it gets a `SelfWaitError`. */
  outsideWait<T>(call: string, promise: Promise<T>, hardSignalOf: OutsideWaitOptions['hardSignalOf']): Promise<T> {
    const { clock, config, logger } = this.#options
    const { abortGraceMs } = config.timing
    const onSelfWait = (err: SelfWaitError): void =>
      logger.warn({ lease: this.lease, event: 'self-wait', err }, err.message)
    return OutsideWait.around(promise, { call, hardSignalOf, abortGraceMs, clock, onSelfWait })
  }

  async #endTerm(order: StepDown): Promise<StepDownResult> {
    const over = this.#term?.controllers?.over
    if (over === undefined) return { kind: 'not-leading' }
    this.#elector?.stepDown(order)
    return steppedDown(await over)
  }

  #carryOut(effect: TermEffect): void {
    const handle = this.#effects[effect.kind] as (effect: TermEffect) => void
    handle(effect)
  }

  /** How this class carries out each effect of the machine. */
  readonly #effects: { readonly [K in TermEffect['kind']]: (effect: Extract<TermEffect, { kind: K }>) => void } = {
    'begin-term': (effect) => this.#term?.begin(effect),
    'extend-validity': ({ validUntil }) => this.#term?.setValidity(validUntil, 'extend'),
    'shorten-validity': ({ validUntil }) => this.#term?.setValidity(validUntil, 'shorten'),
    'end-term': ({ reason, voluntary }) => this.#term?.end(reason, voluntary),
    'close-gate': () => this.#term?.controllers?.leadership.closeGate('superseded'),
    'hard-abort': () => this.#term?.controllers?.hardAbort(),
    wedged: () => this.#term?.wedge(),
    exit: () => this.#term?.exit(),
    'term-over': (effect) => this.#term?.over(effect),
    'leader-observed': (effect) => this.#emit(effect),
    renewed: (effect) => {
      this.#onRequestSucceeded()
      this.#emit({ ...effect, remainingMs: this.remainingMs() })
    },
    'request-failed': (effect) => {
      this.#problems.failed(effect.purpose, effect.error)
      this.#emit(effect)
    },
    'identity-taken': ({ identity }) => {
      this.#options.onFailure(identityTaken(this.lease, identity))
      this.#stopped.resolve()
    },
    stopped: () => this.#stopped.resolve(),
    'warm-up': () => this.#warmUps?.begin('successor'),
    'warm-up-over': () => void this.#warmUps?.end('somebody else succeeds', 'successor'),
  }

  /** What this replica says of itself where replicas follow a strategy. */
  get #facts(): Pick<ElectorConfig, 'attributes' | 'isCold'> {
    return { attributes: this.#attributes.current, isCold: this.#warmUps?.areReady === false }
  }

  /** The settings of the elector, with what this replica says of itself and what the lock says of who decides. */
  get #currentConfig(): ElectorConfig {
    const { state: coordination, preferred } = this.#lock?.coordinator ?? {}
    return { ...this.#config, ...this.#facts, coordination, preferred }
  }

  #createTerm(elector: Elector, warmUps: WarmUps): PresentTerm {
    return new PresentTerm({
      ...this.#options,
      registrations: this.#registrations,
      seen: this.#seen,
      health: this.health,
      elector,
      warmUps,
      emit: (event) => this.#emit(event),
      stepDown: (options) => void this.stepDown(options),
    })
  }

  #createWarmUps(): WarmUps {
    return new WarmUps({
      ...this.#options,
      cleanupTimeoutMs: cleanupBudget(this.#options.config).timeoutMs,
      lease: this.lease,
      registrations: this.#registrations,
      seen: this.#seen,
      onOver: (controller, outcome) => {
        const error = outcome.kind === 'failed' ? outcome.error : undefined
        this.#emit({ kind: 'warm-up', controller, outcome: outcome.kind, error })
        if (this.#options.config.strategy !== undefined) this.#elector?.factsChanged()
      },
      onUnusable: (error) => this.#options.onFailure(error),
      onCleaning: () => this.#term?.controllers?.noteCleaning(),
      onCleanupOverdue: () => this.#elector?.cleanupOverdue(),
      onWedged: (tasks) => this.#options.onFatal(new WedgedError(`The warm-ups for \`${this.lease}\``, tasks)),
    })
  }

  #onState(state: ElectorState): void {
    this.#notices.look(state, this.#currentConfig)
    if (state.kind === 'following') this.#warmUps?.begin('following')
    if (state.kind === 'leading' || state.kind === 'reserving') this.#problems.acquired()
    if (state.kind === 'following' && state.memory.watch === 'up' && this.standing !== 'unseen')
      this.#onRequestSucceeded()
    const from = this.#state
    const described = describeState(state, this.#term?.controllers)
    if (isSameState(from, described)) return
    const to = withJsonForm(described)
    this.#state = to
    this.#emit({ kind: 'state', from, to })
  }

  #onRequestSucceeded(): void {
    this.#problems.succeeded()
    this.#log.requestSucceeded(this.lease)
  }

  async #onDied(error: Error): Promise<void> {
    this.#options.onFailure(error)
    await this.#term?.endAlone()
    this.#stopped.resolve()
  }

  #emit(event: DistributiveOmit<CandidacyEvent, 'lease'>): void {
    const full = withJsonForm<CandidacyEvent>({ lease: this.lease, ...event })
    try {
      this.#log.write(full, this.#term?.controllers?.leadership.epoch)
      publishEvent(full)
      this.#options.onEvent(full)
    } catch (err) {
      this.#options.logger.error({ lease: this.lease, event: full.kind, err }, `a listener failed: ${textOf(err)}`)
    }
  }
}

/** Only the first call ends the process. */
function once<T>(call: (value: T) => void): (value: T) => void {
  let isCalled = false
  return (value) => {
    if (!isCalled) call(value)
    isCalled = true
  }
}
