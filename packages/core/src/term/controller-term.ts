import type { ChildProcess } from 'node:child_process'
import { setMaxListeners } from 'node:events'
import type { ListenOptions, Server } from 'node:net'
import type { Worker } from 'node:worker_threads'
import { isA } from '../error-of.ts'
import { HealthRegistry } from '../health/health-registry.ts'
import { withJsonForm } from '../json-form.ts'
import { onAbort } from '../on-abort.ts'
import { resolveDurationMs } from '../options/duration.ts'
import { assertKnownKeys } from '../options/known-keys.ts'
import { assertBoolean } from '../options/one-of.ts'
import type { Clock } from '../ports/clock.ts'
import { type Logger, silentLogger } from '../ports/logger.ts'
import { assertArguments } from './call-arguments.ts'
import { type Leadership, NotHeldError } from './leadership.ts'
import { acquire, use } from './owned/acquisition.ts'
import { child, type ChildOptions } from './owned/child-process.ts'
import { iterate } from './owned/iteration.ts'
import { listen, type Listener, type ListenTarget } from './owned/listener.ts'
import { OwnedProcesses } from './owned/owned-processes.ts'
import type { Owner } from './owned/owner.ts'
import { serve } from './owned/server.ts'
import { timeout } from './owned/timeout.ts'
import { worker, type WorkerOptions } from './owned/worker-thread.ts'
import { ScopeClosedError, type TaskNote, TaskScope } from './task-scope.ts'
import { TermEndedError } from '../term-ended-error.ts'
import type { Inherited, Predecessor, SpawnOptions, StepDownOptions, Term } from './term.ts'

/** Options of a {@link ControllerTerm}. */
export interface ControllerTermOptions {
  readonly controller: string
  /** Undefined for a warm-up and for a controller that needs no leadership. */
  readonly leadership: Leadership | undefined
  readonly lease: string
  readonly clock: Clock
  readonly onTaskFailure: (error: unknown, task: string) => void
  /** Called when the last task has settled before the run was asked to end. */
  readonly onIdle: () => void
  readonly onStepDown: (options: StepDownOptions) => void
  /** @default a logger that drops every line */
  readonly logger?: Logger
  /** The health checks of the warm-up of this run. @default new checks */
  readonly health?: HealthRegistry
  /** How long the cleanups may take. @default unlimited */
  readonly cleanupBudgetMs?: () => number
  /** Called when every task has settled and the cleanups begin. */
  readonly onCleaning?: () => void
  /** Called when the cleanups have not ended in time. */
  readonly onCleanupOverdue?: () => void
}

/** What one run, or one warm-up, of one controller has started: two signals, a task scope, health checks. New for every run. */
export class ControllerTerm implements Term, Owner {
  readonly controller: string
  readonly lease: string
  readonly clock: Clock
  readonly health: HealthRegistry
  readonly scope: TaskScope
  readonly gateSignal: AbortSignal
  readonly processes: OwnedProcesses = new OwnedProcesses(this)
  /** When the controller last reported progress. Starts as the time of construction. */
  progressedAt: number
  readonly #options: ControllerTermOptions
  readonly #soft = new AbortController()
  readonly #hard = new AbortController()
  /** The leadership that decides whether new work may start. */
  #leadership: Leadership | undefined
  #logger: Logger | undefined

  constructor(options: ControllerTermOptions) {
    const { controller, lease, clock, leadership, onTaskFailure: onFailure } = options
    this.#options = options
    this.#leadership = leadership
    this.controller = controller
    this.lease = lease
    this.clock = clock
    this.health = options.health ?? new HealthRegistry()
    this.progressedAt = clock.now()
    this.gateSignal = leadership?.gateSignal ?? AbortSignal.abort(notHeld(this))
    this.scope = new TaskScope({ ...options, onFailure })
    // A term may have thousands of tasks that listen.
    setMaxListeners(0, this.signal, this.hardSignal)
  }

  get epoch(): bigint {
    return this.#options.leadership?.epoch ?? 0n
  }

  /** The leadership under which its tasks may start: that of the run, also for a warm-up that the run has adopted. */
  get leadership(): Leadership | undefined {
    return this.#leadership
  }

  get inherited(): Inherited | undefined {
    const inherited = this.#options.leadership?.bequests.legacy.values.get(this.controller)
    return inherited && withJsonForm(structuredClone(inherited))
  }

  get predecessor(): Predecessor | undefined {
    const versions = this.#options.leadership?.bequests.legacy.versions
    return versions && withJsonForm({ versions: new Map(versions) })
  }

  get logger(): Logger {
    const { lease, controller, epoch } = this
    this.#logger ??= (this.#options.logger ?? silentLogger).child({ lease, controller, ...(epoch !== 0n && { epoch }) })
    return this.#logger
  }

  get taskCount(): number {
    return this.scope.size
  }

  get signal(): AbortSignal {
    return this.#soft.signal
  }

  get hardSignal(): AbortSignal {
    return this.#hard.signal
  }

  spawn<T>(name: string, work: (signal: AbortSignal) => T | Promise<T>, options?: SpawnOptions): Promise<T> {
    assertArguments('term.spawn(name, work)', { texts: { name }, functions: { work } })
    const signal = this.#signalFor(options)
    this.assertOpen(name)
    return this.scope.spawn(name, () => work(signal))
  }

  #signalFor(options: SpawnOptions | undefined): AbortSignal {
    if (options === undefined) return this.signal
    assertKnownKeys('`term.spawn()`', options, ['finishOnDrain'])
    assertBoolean('finishOnDrain', options.finishOnDrain)
    return options.finishOnDrain === true ? this.hardSignal : this.signal
  }

  every(intervalMs: number, work: (signal: AbortSignal) => unknown): Promise<void> {
    const pause = resolveDurationMs('intervalMs', intervalMs, { min: 0 })
    assertArguments('term.every(intervalMs, work)', { functions: { work } })
    const name = `every ${pause} ms`
    const { signal } = this
    this.assertOpen(name)
    return this.scope.spawn(name, async (task) => {
      while (this.admits() && !signal.aborted) {
        task.waitsOn = `the work of term.every ${pause} ms`
        await work(signal)
        task.waitsOn = `the pause of term.every ${pause} ms`
        await this.sleep(pause).catch(rethrowUnless(signal))
      }
    })
  }

  sleep(delayMs: number): Promise<void> {
    resolveDurationMs('delayMs', delayMs, { min: 0 })
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.admits()
    const resumed = this.scope.waits(`term.sleep ${delayMs} ms`)
    const timer = this.clock.setTimer(delayMs, () => {
      // The abort rejects the promise.
      if (!this.admits()) return
      forget()
      resolve()
      resumed()
    })
    const forget = onAbort(this.signal, () => {
      timer.cancel()
      reject(this.signal.reason)
    })
    return promise
  }

  timeout(delayMs: number, work: (signal: AbortSignal) => unknown): () => void {
    const delay = resolveDurationMs('delayMs', delayMs, { min: 0 })
    assertArguments('term.timeout(delayMs, work)', { functions: { work } })
    return timeout(this, delay, work)
  }

  listen(target: ListenTarget, event: string | symbol, listener: Listener): () => void {
    return listen(this, { target, event, listener })
  }

  iterate<T>(source: AsyncIterable<T>): AsyncIterable<T> {
    return iterate(this, source)
  }

  acquire<T>(
    name: string,
    open: (signal: AbortSignal) => T | Promise<T>,
    close: (resource: T, signal: AbortSignal) => unknown,
  ): Promise<T> {
    assertArguments('term.acquire(name, open, close)', { texts: { name }, functions: { open, close } })
    return acquire(this, name, { open, close })
  }

  use<T extends Disposable | AsyncDisposable>(resource: T): T {
    return use(this, resource)
  }

  child<C extends ChildProcess>(name: string, start: () => C, options: ChildOptions = {}): C {
    assertArguments('term.child(name, start)', { texts: { name }, functions: { start } })
    return child(this, name, { start, options })
  }

  worker<W extends Worker>(name: string, start: () => W, options: WorkerOptions = {}): W {
    assertArguments('term.worker(name, start)', { texts: { name }, functions: { start } })
    return worker(this, name, { start, options })
  }

  serve<S extends Server>(name: string, server: S, listenOptions: ListenOptions): Promise<S> {
    assertArguments('term.serve(name, server, listen)', { texts: { name } })
    return serve(this, name, { server, listen: listenOptions })
  }

  defer(cleanup: (signal: AbortSignal) => unknown): void {
    assertArguments('term.defer(cleanup)', { functions: { cleanup } })
    this.scope.defer((signal) => {
      // A cleanup always runs. The clock is read first, so that the term does not look held when it is not.
      this.admits()
      return cleanup(signal)
    })
  }

  isHeld(): boolean {
    return this.#options.leadership?.isHeld() ?? false
  }

  assertHeld(): void {
    if (!this.isHeld()) throw notHeld(this)
  }

  remainingMs(): number {
    return this.#options.leadership?.remainingMs() ?? 0
  }

  bequeath(value: unknown): void {
    const { leadership } = this.#options
    if (leadership === undefined || leadership.bequests.isLeft) throw notHeld(this)
    leadership.bequests.bequeath(this.controller, value)
  }

  /** Notes the version that an acknowledged write of the term made; empty if it is not known. */
  noteVersion(collection: string, version: string): void {
    this.#options.leadership?.bequests.noteVersion(collection, version)
  }

  stepDown(options: StepDownOptions = {}): void {
    // After the gate has closed, the replica may have another term. This call must not end it.
    if (!this.gateSignal.aborted) this.#options.onStepDown(options)
  }

  progress(): void {
    this.progressedAt = this.clock.now()
  }

  admits(): boolean {
    return this.#leadership?.isHeld() ?? true
  }

  /** From now on, `admits()` also checks this leadership. For the warm-up of a run that leads. */
  follow(leadership: Leadership | undefined): void {
    this.#leadership = leadership
  }

  assertOpen(name: string): void {
    const isOpen = !this.signal.aborted && this.admits()
    if (!isOpen) throw new ScopeClosedError(name, this.controller, { cause: this.signal.reason })
  }

  track<T>(name: string, work: (task: TaskNote) => T | Promise<T>): Promise<T> {
    return this.scope.spawn(name, work)
  }

  enter<T>(work: () => T | Promise<T>): Promise<T> {
    return this.scope.enter(work)
  }

  noteSite(name: string): void {
    this.scope.noteSite(name)
  }

  /** Reports the failure of a task that was started for this run elsewhere. */
  taskFailed(error: unknown, task: string): void {
    this.#options.onTaskFailure(error, task)
  }

  /** Whether an error is only a consequence of the end of the run. */
  isEchoOfEnd(error: unknown): boolean {
    const { aborted, reason } = this.signal
    if (!aborted) return false
    if (error === reason || isA(error, ScopeClosedError)) return true
    try {
      return error instanceof Error && (error.name === 'AbortError' || error.cause === reason)
    } catch {
      return false
    }
  }

  /** Asks the work to take nothing new. */
  end(reason: Error): void {
    this.#soft.abort(reason)
  }

  /** Asks the work to drop what is in flight. */
  hardAbort(reason: Error): void {
    this.#soft.abort(reason)
    this.#hard.abort(reason)
  }

  /** Nothing of the run is left. */
  over(): void {
    this.health.close(checksEnded(this))
  }
}

function checksEnded({ controller, lease, epoch }: Pick<Term, 'controller' | 'lease' | 'epoch'>): TermEndedError {
  return new TermEndedError(
    `The health checks belong to a run of controller \`${controller}\` that has ended (lease \`${lease}\`, epoch ${epoch}): ` +
      'register them in every run with `term.health`',
  )
}

function notHeld(term: { readonly lease: string; readonly epoch: bigint; readonly controller: string }): NotHeldError {
  const why =
    term.epoch === 0n
      ? 'it runs outside of a term'
      : `\`${term.lease}\` is not held by the term with epoch ${term.epoch}`
  return new NotHeldError(`Controller \`${term.controller}\` may not act: ${why}`)
}

function rethrowUnless(signal: AbortSignal): (error: unknown) => void {
  return (error) => {
    if (!signal.aborted) throw error
  }
}
