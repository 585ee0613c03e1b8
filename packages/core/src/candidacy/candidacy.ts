import type { Controller, ControllerFactory } from '../controller/controller.ts'
import { createRegistration, type RegisterOptions, type Registration } from '../controller/registration.ts'
import type { SupervisorObserver } from '../controller/supervisor.ts'
import type { WarmRun } from '../controller/warm-up.ts'
import { Elector, type TermEffect } from '../election/elector.ts'
import type { EndReason } from '../election/leadership-ended-error.ts'
import type { TermOutcome } from '../election/machine/effect.ts'
import type { StepDown } from '../election/machine/event.ts'
import type { ElectorState } from '../election/machine/state.ts'
import { INITIAL_STATE } from '../election/machine/transition.ts'
import { HealthRegistry } from '../health/health-registry.ts'
import { HealthProbe } from '../health/health-probe.ts'
import { errorOf, isA } from '../error-of.ts'
import { JITTER_FACTOR } from '../jitter.ts'
import { withJsonForm } from '../json-form.ts'
import type { Lock } from '../lock/lock.ts'
import { type LockFailure, LockRequestError } from '../lock/lock-request-error.ts'
import { resolveDurationMs } from '../options/duration.ts'
import { assertKnownKeys } from '../options/known-keys.ts'
import { OptionsError } from '../options/options-error.ts'
import { Leadership } from '../term/leadership.ts'
import { OutsideWait, type OutsideWaitOptions, type SelfWaitError } from '../term/self-wait.ts'
import type { LiveTask, TaskScope } from '../term/task-scope.ts'
import type { StepDownOptions } from '../term/term.ts'
import { textOf } from '../text-of.ts'
import { AlreadyStartedError } from '../already-started-error.ts'
import { publishEvent } from './channels.ts'
import type { DeadlineGuard } from '../watchdog/watchdog.ts'
import type { CandidacyOptions } from './candidacy-options.ts'
import { describeState, isSameState } from './describe-state.ts'
import { EventLog } from './event-log.ts'
import { LeaseNotices } from './lease-notices.ts'
import { explain } from './explain.ts'
import type { CandidacyEvent, CandidacyState, DrainOutcome, TermOverEvent } from './events.ts'
import { TermRun, type TermRunOptions } from './term-run.ts'
import type { LeaseOptions } from './lease-options.ts'
import { WarmUps } from './warm-ups.ts'
import { describeTasks } from '../term/describe-tasks.ts'
import { LeadershipLostError, WedgedError } from './wedged-error.ts'

/** What a step-down came to. `JSON.stringify()` takes it: the epoch becomes a decimal string. */
export type StepDownResult =
  | { readonly kind: 'not-leading' }
  | {
      readonly kind: 'stepped-down'
      readonly epoch: bigint
      /** What became of the lease. */
      readonly outcome: TermOutcome
      /** The identity of the replica that the lease was handed to; undefined unless `outcome` is `transferred`. */
      readonly successor: string | undefined
      readonly drain: DrainOutcome
      readonly drainMs: number
      /** What failed while the term ended. */
      readonly errors: readonly unknown[]
    }

/**
 * Stands for one lease: follows, leads a term, drains it, follows again.
 *
 * Owns the elector and the present term.
 * 1. At most one term at a time: the elector learns that a term is drained only when nothing of it is left.
 * 2. A follower holds no controller.
 */
export class Candidacy {
  /** The name of the lease. */
  readonly lease: string
  /** The options that the lease was given with. */
  readonly leaseOptions: LeaseOptions
  /** The health checks of the present term, and those of the election itself. */
  readonly health: HealthProbe = new HealthProbe()
  readonly #options: CandidacyOptions
  readonly #registrations: Registration[] = []
  readonly #notices: LeaseNotices
  readonly #log: EventLog
  readonly #seen = new WeakSet<Controller>()
  readonly #stopped = Promise.withResolvers<void>()
  readonly #termWaiters: ((event: TermOverEvent) => void)[] = []
  #state: CandidacyState = { kind: 'idle' }
  #lock: Lock | undefined
  #elector: Elector | undefined
  #run: TermRun | undefined
  #guard: DeadlineGuard | undefined
  #wedged: WedgedError | undefined
  /** The drain is overdue but for cleanups, which have time of their own. */
  #isWedgePostponed = false
  #warmUps: WarmUps | undefined
  #death: Error | undefined
  #isEndingProcess = false
  #started = false
  #lastProblem: Error | undefined
  #refusal: Error | undefined

  constructor(options: CandidacyOptions) {
    this.#options = options
    this.lease = options.lease.name
    this.leaseOptions = options.lease
    this.#log = new EventLog(options)
    this.#notices = new LeaseNotices({ logger: options.logger, lease: this.lease })
    const election = new HealthRegistry()
    election.register('leader-election', () => this.#assertHealthy())
    this.health.add(election)
  }

  /** What the candidacy is doing. */
  get state(): CandidacyState {
    return this.#state
  }

  /** The tasks of the present term that have not settled; none for a follower. */
  liveTasks(): readonly LiveTask[] {
    return this.#run?.liveTasks() ?? []
  }

  /** The tasks that keep a wedged drain from its end; none otherwise. */
  stuckTasks(): readonly LiveTask[] {
    return this.#wedged === undefined ? [] : this.liveTasks()
  }

  /** Milliseconds for which the present term may still act if it is not renewed; 0 for a follower. */
  remainingMs(): number {
    return this.#run?.leadership.remainingMs() ?? 0
  }

  /** The error of the last request to the lock, until one succeeds. */
  get lastProblem(): Error | undefined {
    return this.#lastProblem
  }

  /**
   * Why the last attempt to acquire the lease was refused, where another attempt meets the same refusal: no permission, no
   * namespace, an invalid object. Undefined again once this replica holds the lease.
   */
  get refusal(): Error | undefined {
    return this.#refusal
  }

  /** Whether the lease was seen at least once, even if only to be absent. */
  get hasObservedLease(): boolean {
    const state = this.#elector?.state
    return (
      state !== undefined &&
      state.kind !== 'idle' &&
      !(state.kind === 'following' && state.observation.kind === 'unknown')
    )
  }

  /** Why this replica is not leading now, or that it is, in one sentence for people. The wording may change at any time. */
  explain(): string {
    if (this.#death !== undefined) return `It does not stand for election any more: ${this.#death.message}.`
    const { config, clock } = this.#options
    const state = this.#elector?.state ?? INITIAL_STATE
    const context = {
      config,
      now: clock.now(),
      tasks: this.liveTasks(),
      lastProblem: this.#lastProblem ?? this.#refusal,
    }
    return explain(state, context)
  }

  /**
   * Adds a controller; `factory` builds a new one for every run.
   * @throws AlreadyStartedError after the start. @throws OptionsError for a factory that is not a function, or bad options.
   */
  register(factory: ControllerFactory, options: RegisterOptions = {}): this {
    if (this.#started) throw new AlreadyStartedError('Expected `register()` to be called before `start()`')
    this.#registrations.push(createRegistration(factory, options, this.#options.restart))
    return this
  }

  /** Stands for election. */
  start(): void {
    const { config, clock, random, createLock } = this.#options
    this.#started = true
    this.#warnUnlessRegistered()
    this.#lock = createLock()
    this.#warmUps = this.#createWarmUps()
    this.#elector = new Elector({
      lock: this.#lock,
      config,
      clock,
      random,
      onEffect: (effect) => this.#onEffect(effect),
      onState: (state) => this.#onState(state),
      onDied: (cause) => this.#onDied(cause),
    })
    this.#elector.start()
  }

  #warnUnlessRegistered(): void {
    if (this.#registrations.length > 0) return
    this.#options.logger.warn(
      { lease: this.lease, event: 'no-controllers' },
      `no controller is registered for the lease ${this.lease}: this replica will lead and do nothing. Call ` +
        '`register(() => new MyController())` before `start()`',
    )
  }

  /** Drains, releases and stands no more. Resolves when nothing is left. */
  async stop(): Promise<void> {
    if (this.#elector === undefined) return
    this.#elector.stop()
    await Promise.all([this.#stopped.promise, this.#warmUps?.stop()])
    await this.#elector.closed()
    await this.#lock?.close()
  }

  /**
   * Ends the present term voluntarily, and follows again. Resolves with what became of it, once nothing of it is left. A term that
   * is ending already goes on ending as it was told to.
   * @throws OptionsError when `to` is empty or this replica itself, or an option is wrong.
   */
  stepDown(options: StepDownOptions = {}): Promise<StepDownResult> {
    const { to } = options
    const run = this.#run
    const reason = to === undefined ? 'step-down' : 'transferred'
    const ended = this.#endTerm({ reason, ...this.#resolveStepDown(options) })
    return this.outsideWait('stepDown()', ended, (scope) => run?.hardSignalOf(scope))
  }

  /** The hard signal of the run or warm-up that the scope belongs to; undefined where it is none of this candidacy. */
  hardSignalOf(scope: TaskScope): AbortSignal | undefined {
    return this.#run?.hardSignalOf(scope) ?? this.#warmUps?.hardSignalOf(scope)
  }

  /** A promise that waits for tasks, and says so to a task among them that waits for it. */
  outsideWait<T>(call: string, promise: Promise<T>, hardSignalOf: OutsideWaitOptions['hardSignalOf']): Promise<T> {
    const { clock, config, logger } = this.#options
    const { abortGraceMs } = config.timing
    const onSelfWait = (err: SelfWaitError): void =>
      logger.warn({ lease: this.lease, event: 'self-wait', err }, err.message)
    return OutsideWait.around(promise, { call, hardSignalOf, abortGraceMs, clock, onSelfWait })
  }

  #endTerm(order: StepDown): Promise<StepDownResult> {
    if (this.#run === undefined) return Promise.resolve({ kind: 'not-leading' })
    const { promise, resolve } = Promise.withResolvers<StepDownResult>()
    this.#termWaiters.push(({ epoch, outcome, successor, drain, drainMs, errors }) =>
      resolve(withJsonForm({ kind: 'stepped-down', epoch, outcome, successor, drain, drainMs, errors })),
    )
    this.#elector?.stepDown(order)
    return promise
  }

  #resolveStepDown(options: StepDownOptions): Omit<StepDown, 'reason'> {
    assertKnownKeys('`stepDown()`', options, ['cooldownMs', 'to', 'answerTimeoutMs'])
    const { identity, timing } = this.#options.config
    const slowestPollMs = JITTER_FACTOR * timing.retryPeriodMs
    const { to } = options
    if (to !== undefined && (typeof to !== 'string' || to === '' || to === identity)) {
      throw OptionsError.expected(`\`to\` to be the identity of another replica`, to)
    }
    return {
      cooldownMs: resolveDurationMs('cooldownMs', options.cooldownMs, { fallback: 2 * slowestPollMs, min: 0 }),
      ...(to !== undefined && { to }),
      answerTimeoutMs: resolveDurationMs('answerTimeoutMs', options.answerTimeoutMs, {
        fallback: slowestPollMs,
        min: 0,
      }),
    }
  }

  #onEffect(effect: TermEffect): void {
    switch (effect.kind) {
      case 'begin-term':
        this.#beginTerm(effect.epoch, effect.validUntil, effect.handoverMs)
        break
      case 'extend-validity':
        this.#run?.leadership.extend(effect.validUntil)
        this.#guard?.hold(effect.validUntil)
        break
      case 'shorten-validity':
        this.#run?.leadership.shorten(effect.validUntil)
        this.#guard?.hold(effect.validUntil)
        break
      case 'end-term':
        this.#beginEnd(effect.reason, effect.voluntary)
        break
      case 'close-gate':
        this.#run?.leadership.closeGate('superseded')
        break
      case 'hard-abort':
        this.#run?.hardAbort()
        break
      case 'wedged':
        this.#onWedged()
        break
      case 'term-over':
        this.#termOver(effect)
        break
      case 'leader-observed':
        this.#emit({ kind: 'leader-observed', identity: effect.identity })
        break
      case 'renewed':
        this.#onRequestSucceeded()
        this.#emit({ ...effect, remainingMs: this.#run?.leadership.remainingMs() ?? 0 })
        break
      case 'request-failed':
        this.#lastProblem = effect.error
        if (effect.purpose === 'acquire' && isRefusal(effect.error)) this.#refusal = effect.error
        this.#emit(effect)
        break
      case 'identity-taken':
        this.#options.onFailure(identityTaken(this.lease, effect.identity))
        this.#stopped.resolve()
        break
      case 'stopped':
        this.#stopped.resolve()
        break
      case 'warm-up':
        this.#warmUps?.begin('successor')
        break
      case 'warm-up-over':
        void this.#warmUps?.end('somebody else succeeds', 'successor')
        break
      default:
        effect satisfies never
    }
  }

  #beginTerm(epoch: bigint, validUntil: number, handoverMs: number): void {
    const { clock } = this.#options
    this.#guard = this.#options.guard?.()
    this.#guard?.hold(validUntil)
    const onExpired = () => this.#elector?.lose('stalled')
    const leadership = new Leadership({ epoch, lease: this.lease, validUntil, clock, onExpired })
    const warmRuns = this.#warmUps?.runs ?? new Map<Registration, WarmRun>()
    try {
      this.#run = this.#createRun(leadership, { registrations: this.#registrations, warmRuns })
      this.#warmUps?.handOver()
    } catch (error) {
      // A controller that can never run: the term is empty, and the manager stops.
      this.#run = this.#createRun(leadership, { registrations: [], warmRuns: new Map() })
      this.#options.onFailure(errorOf(error))
    }
    this.#emit({ kind: 'term-began', epoch, handoverMs: handoverMs })
    this.#run.start()
  }

  #createRun(leadership: Leadership, controllers: Pick<TermRunOptions, 'registrations' | 'warmRuns'>): TermRun {
    const { config, cleanupTimeoutMs } = this.#options
    return new TermRun({
      ...this.#options,
      ...controllers,
      lease: this.lease,
      leadership,
      seen: this.#seen,
      timing: { ...config.timing, cleanupTimeoutMs },
      observe: (controller) => this.#observerOf(controller),
    })
  }

  #beginEnd(reason: EndReason, voluntary: boolean): void {
    const run = this.#run
    if (run === undefined) return
    const isFirst = run.reason === undefined
    run.end(reason, voluntary)
    if (isFirst) {
      this.#emit({ kind: 'term-ending', epoch: run.leadership.epoch, reason })
      void run.done().then(() => this.#onDrained(run))
    }
    if (voluntary) return
    // What was still in time for a voluntary end is too late for this one.
    if (this.#isWedgePostponed) this.#wedge(run)
    if (!this.#options.gates.GracefulLeaderTransition.enabled) {
      this.#endProcess(new LeadershipLostError(`The lease \`${this.lease}\` was lost: ${reason}`))
    } else if (this.#wedged !== undefined && this.#options.onWedged === 'hold') {
      this.#endProcess(this.#wedged)
    }
  }

  /** Untracked work of the user must not write beside the next leader either, so the gate closes before the release is sent. */
  #onDrained(run: TermRun): void {
    if (this.#run !== run) return
    run.leadership.closeGate(run.reason ?? 'step-down')
    this.#elector?.drained()
  }

  #onWedged(): void {
    const run = this.#run
    if (run === undefined) return
    const isHeld = this.#elector?.state.kind === 'draining'
    if (isHeld && run.isWithinCleanupBudget) this.#isWedgePostponed = true
    else this.#wedge(run)
  }

  /** The cleanups of a run that fails while the term lasts are the business of its supervisor. */
  #onCleanupOverdue(): void {
    if (this.#run?.reason !== undefined) this.#wedge(this.#run)
  }

  #wedge(run: TermRun): void {
    if (this.#wedged !== undefined) return
    const tasks = run.wedge()
    const { epoch } = run.leadership
    this.#wedged = new WedgedError(this.lease, epoch, tasks)
    this.#emit({ kind: 'wedged', epoch, tasks })
    const { onWedged } = this.#options
    const isHeld = this.#elector?.state.kind === 'draining'
    if (onWedged === 'exit' || (onWedged === 'hold' && !isHeld)) {
      run.leadership.closeGate(run.reason ?? 'step-down')
      this.#endProcess(this.#wedged)
    }
    if (onWedged === 'abandon') this.#abandon(run)
  }

  /** Goes on without the tasks that are left. The lease is not released over them but left to expire. */
  #abandon(run: TermRun): void {
    this.#guard?.lift()
    run.leadership.closeGate(run.reason ?? 'step-down')
    this.#elector?.lose('stalled')
    this.#elector?.drained()
  }

  #endProcess(error: LeadershipLostError | WedgedError): void {
    if (this.#isEndingProcess) return
    this.#isEndingProcess = true
    this.#options.onFatal(error)
  }

  #termOver({ outcome, successor }: Pick<TermOverEvent, 'outcome' | 'successor'>): void {
    const run = this.#run
    if (run === undefined) return
    const { clock } = this.#options
    this.#guard?.lift()
    this.#guard = undefined
    this.#run = undefined
    this.#wedged = undefined
    this.#isWedgePostponed = false
    const reason = run.reason ?? 'step-down'
    run.leadership.closeGate(reason)
    const over: TermOverEvent = {
      kind: 'term-over',
      epoch: run.leadership.epoch,
      reason,
      outcome,
      successor,
      drain: run.drain,
      durationMs: clock.now() - run.startedAt,
      drainMs: run.drainMs,
      errors: run.errors,
    }
    this.#emit(over)
    for (const waiter of this.#termWaiters.splice(0)) waiter(over)
    if (reason !== 'shutdown' && !this.#options.gates.GracefulLeaderTransition.enabled) {
      this.#endProcess(new LeadershipLostError(`The term on \`${this.lease}\` is over: ${reason}`))
    }
  }

  #observerOf(controller: string): SupervisorObserver {
    let removeHealth = () => {}
    return {
      runBegan: (term) => (removeHealth = this.health.add(term.health, `${controller}.`)),
      runOver: () => removeHealth(),
      failed: (error, restartInMs) => this.#emit({ kind: 'controller-failed', controller, error, restartInMs }),
      failedWhileEnding: (error, task) =>
        this.#options.logger.error(
          { lease: this.lease, controller, task, err: error },
          'task failed while its term ended',
        ),
      gaveUp: (error, cooldownMs) => this.#giveUp(error, cooldownMs),
      cleanupOverdue: () => this.#onCleanupOverdue(),
      stepDown: (options) => void this.stepDown(options),
    }
  }

  /** A replica whose controller is beyond repair leaves the lease to a healthier one for as long as restarts were counted. */
  #giveUp(error: Error, cooldownMs: number): void {
    if (isA(error.cause, OptionsError)) this.#options.onFailure(error.cause)
    void this.#endTerm({ reason: 'controller-failed', cooldownMs })
  }

  #createWarmUps(): WarmUps {
    return new WarmUps({
      ...this.#options,
      lease: this.lease,
      registrations: this.#registrations,
      seen: this.#seen,
      onOver: (controller, outcome) => {
        const error = outcome.kind === 'failed' ? outcome.error : undefined
        this.#emit({ kind: 'warm-up', controller, outcome: outcome.kind, error })
      },
      onUnusable: (error) => this.#options.onFailure(error),
      onCleanupOverdue: () => this.#onCleanupOverdue(),
      onWedged: (tasks) => this.#endProcess(new WedgedError(this.lease, 0n, tasks)),
    })
  }

  #onState(state: ElectorState): void {
    this.#notices.look(state, this.#options.config)
    if (state.kind === 'following') this.#warmUps?.begin('following')
    const to = withJsonForm(describeState(state, { run: this.#run, wedged: this.#wedged }))
    const from = this.#state
    if (state.kind === 'leading' || state.kind === 'reserving') this.#refusal = undefined
    if (state.kind === 'following' && state.memory.watch === 'up' && this.hasObservedLease) this.#onRequestSucceeded()
    if (isSameState(from, to)) return
    this.#state = to
    this.#emit({ kind: 'state', from, to })
  }

  #onRequestSucceeded(): void {
    this.#lastProblem = undefined
    this.#log.requestSucceeded(this.lease)
  }

  #assertHealthy(): void {
    if (this.#wedged !== undefined) throw this.#wedged
    this.#elector?.assertAlive()
    if (this.#death !== undefined) throw this.#death
    const run = this.#run
    const tasks = this.liveTasks()
    if (run === undefined || tasks.length === 0) return
    if (!run.leadership.isHeld()) {
      throw new Error(`the lease has expired while these tasks still run: ${describeTasks(tasks)}`)
    }
    if (this.#isDrainOverdue()) {
      throw new Error(`the drain has not ended in time, still running: ${describeTasks(tasks)}`)
    }
  }

  /** Whether tasks that were given time to finish had to be aborted, and have not reacted yet. */
  #isDrainOverdue(): boolean {
    const state = this.#elector?.state
    return state?.kind === 'draining' && state.stage === 'aborted'
  }

  /** Nobody renews the lease any more: what is left of the term must be gone before it is over. */
  #onDied(cause: unknown): void {
    this.#death = new Error(`The elector of \`${this.lease}\` died`, { cause })
    this.#options.onFailure(this.#death)
    const run = this.#run
    if (run === undefined) return this.#stopped.resolve()
    const overdue = this.#options.clock.setTimer(run.leadership.remainingMs(), () => this.#wedge(run))
    run.end('stalled', false)
    run.hardAbort()
    void run.done().then(() => {
      overdue.cancel()
      if (this.#run === run) this.#termOver({ outcome: 'expired', successor: undefined })
      this.#stopped.resolve()
    })
  }

  #emit(event: DistributiveOmit<CandidacyEvent, 'lease'>): void {
    const full = withJsonForm<CandidacyEvent>({ lease: this.lease, ...event })
    try {
      this.#log.write(full, this.#run?.leadership.epoch)
      publishEvent(full)
      this.#options.onEvent(full)
    } catch (err) {
      this.#options.logger.error({ lease: this.lease, event: full.kind, err }, `a listener failed: ${textOf(err)}`)
    }
  }
}

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never

/** The failures that do not end by themselves. */
const REFUSALS: ReadonlySet<LockFailure> = new Set(['not-found', 'unauthenticated', 'forbidden', 'rejected'])

function isRefusal(error: Error): boolean {
  return error instanceof LockRequestError && REFUSALS.has(error.failure)
}

function identityTaken(lease: string, identity: string): OptionsError {
  return new OptionsError(
    `Expected \`identity\` to be unique to this process, but another live replica holds \`${lease}\` as \`${identity}\`. ` +
      'Leave `identity` out to get a unique one',
  )
}
