import { HealthRegistry } from '../health/health-registry.ts'
import { resolveDurationMs } from '../options/duration.ts'
import type { Clock } from '../ports/clock.ts'
import { type Leadership, NotHeldError } from './leadership.ts'
import { ScopeClosedError, TaskScope } from './task-scope.ts'
import type { SpawnOptions, StepDownOptions, Term } from './term.ts'

/** What a {@link ControllerTerm} is made of. */
export interface ControllerTermOptions {
  readonly controller: string
  /** Undefined where the controller needs no leadership. */
  readonly leadership: Leadership | undefined
  readonly lease: string
  readonly clock: Clock
  readonly onTaskFailure: (error: unknown, task: string) => void
  /** Called when the last task has settled and the run was not told to end. */
  readonly onIdle: () => void
  readonly onStepDown: (options: StepDownOptions) => void
}

/** One run of one controller within a term: two signals, a task scope, health checks. Fresh for every run. */
export class ControllerTerm implements Term {
  readonly controller: string
  readonly lease: string
  readonly health: HealthRegistry = new HealthRegistry()
  readonly scope: TaskScope
  readonly gateSignal: AbortSignal
  readonly #options: ControllerTermOptions
  readonly #soft = new AbortController()
  readonly #hard = new AbortController()

  constructor(options: ControllerTermOptions) {
    this.#options = options
    this.controller = options.controller
    this.lease = options.lease
    this.gateSignal = options.leadership?.gateSignal ?? AbortSignal.abort(notHeld(this))
    this.scope = new TaskScope({
      controller: options.controller,
      clock: options.clock,
      onFailure: options.onTaskFailure,
      onIdle: options.onIdle,
    })
  }

  get epoch(): bigint {
    return this.#options.leadership?.epoch ?? 0n
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

  spawn<T>(name: string, work: (signal: AbortSignal) => T | Promise<T>, options: SpawnOptions = {}): Promise<T> {
    if (this.signal.aborted) throw new ScopeClosedError(name, this.controller, { cause: this.signal.reason })
    const signal = options.finishOnDrain === true ? this.hardSignal : this.signal
    return this.scope.spawn(name, () => work(signal))
  }

  every(intervalMs: number, work: (signal: AbortSignal) => unknown): Promise<void> {
    const pause = resolveDurationMs('intervalMs', intervalMs, { fallback: 0, min: 0 })
    return this.spawn(`every ${pause} ms`, async (signal) => {
      while (!signal.aborted) {
        await work(signal)
        await this.sleep(pause).catch(rethrowUnless(signal))
      }
    })
  }

  sleep(delayMs: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    if (this.signal.aborted) {
      reject(this.signal.reason)
      return promise
    }
    const onAbort = () => {
      timer.cancel()
      reject(this.signal.reason)
    }
    const timer = this.#options.clock.setTimer(delayMs, () => {
      this.signal.removeEventListener('abort', onAbort)
      resolve()
    })
    this.signal.addEventListener('abort', onAbort, { once: true })
    return promise
  }

  defer(cleanup: () => unknown): void {
    this.scope.defer(cleanup)
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

  stepDown(options: StepDownOptions = {}): void {
    this.#options.onStepDown(options)
  }

  /** Tells the work to take nothing new. */
  end(reason: Error): void {
    this.#soft.abort(reason)
  }

  /** Tells the work to drop what is in flight. */
  hardAbort(reason: Error): void {
    this.#soft.abort(reason)
    this.#hard.abort(reason)
  }
}

function notHeld(term: { readonly lease: string; readonly epoch: bigint; readonly controller: string }): NotHeldError {
  return new NotHeldError(
    `Controller \`${term.controller}\` may not act: \`${term.lease}\` is not held by the term with epoch ${term.epoch}`,
  )
}

function rethrowUnless(signal: AbortSignal): (error: unknown) => void {
  return (error) => {
    if (!signal.aborted) throw error
  }
}
