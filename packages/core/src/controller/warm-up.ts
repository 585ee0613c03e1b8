import type { HealthRegistry } from '../health/health-registry.ts'
import type { Clock } from '../ports/clock.ts'
import type { Logger } from '../ports/logger.ts'
import { TermEndedError } from '../term-ended-error.ts'
import { ControllerTerm } from '../term/controller-term.ts'
import type { Leadership } from '../term/leadership.ts'
import { onAbort } from '../on-abort.ts'
import type { LiveTask, TaskScope } from '../term/task-scope.ts'
import type { Controller } from './controller.ts'

/** When a controller that can warm up does so. */
export const WARM_UP_MODES = ['never', 'successor', 'following'] as const

/**
 * When a controller that has a `warmUp` is built ahead of its term.
 *
 * - `never`: not at all; a follower builds nothing.
 * - `successor`: when the leader steps down and this replica is to succeed it.
 * - `following`: for as long as the replica follows.
 */
export type WarmUpMode = (typeof WARM_UP_MODES)[number]

/** The reason with which the signals of a warm-up abort. */
export class WarmUpOverError extends TermEndedError {
  override readonly code = 'WARM_UP_OVER'

  constructor(controller: string, why: string) {
    super(`The warm-up of controller \`${controller}\` is over: ${why}`)
  }
}

/** How a warm-up went. `error`: why it failed. */
export type WarmUpOutcome =
  { readonly kind: 'ready' } | { readonly kind: 'cancelled' } | { readonly kind: 'failed'; readonly error: unknown }

/** What a {@link ControllerWarmUp} is made of. */
export interface ControllerWarmUpOptions {
  readonly controller: Controller
  /** The name of the controller. */
  readonly name: string
  readonly lease: string
  readonly clock: Clock
  /** For the lines of the controller. @default a logger that drops every line */
  readonly logger?: Logger
  readonly cleanupBudgetMs: () => number
  readonly onCleaning: () => void
  readonly onCleanupOverdue: () => void
  /** Something failed after the warm-up was ready, or while it ended. */
  readonly onLateFailure: (error: unknown, task: string) => void
}

/** For how long the outcome of a warm-up is waited for. */
export interface WarmUpPatience {
  readonly clock: Clock
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/**
 * A controller that was built ahead of its term, and everything that its warm-up started.
 *
 * 1. `warmUp()` is called once, before `run()`, on the very instance that is to run.
 * 2. Once ended, nothing new begins; once joined, nothing is left.
 */
export class ControllerWarmUp {
  readonly controller: Controller
  readonly name: string
  readonly #term: ControllerTerm
  readonly #settled = Promise.withResolvers<WarmUpOutcome>()
  #outcome: WarmUpOutcome | undefined
  #onLateFailure: ControllerWarmUpOptions['onLateFailure']

  constructor(options: ControllerWarmUpOptions) {
    this.controller = options.controller
    this.name = options.name
    this.#onLateFailure = options.onLateFailure
    this.#term = new ControllerTerm({
      ...options,
      controller: options.name,
      leadership: undefined,
      onTaskFailure: (error, task) => this.#failed(error, task),
      onIdle: () => {},
      onStepDown: () => {},
    })
  }

  /** The health checks of the warm-up, which the run of its controller goes on with. */
  get health(): HealthRegistry {
    return this.#term.health
  }

  /** Begins to warm up. */
  start(): void {
    const { controller } = this
    if (!canWarmUp(controller)) return this.#settle({ kind: 'ready' })
    this.#term
      .spawn('warmUp', () => this.#term.scope.enter(() => controller.warmUp?.(this.#term)))
      .then(
        () => this.#settle({ kind: 'ready' }),
        () => {},
      )
  }

  /** How it went; undefined while it is under way. */
  get outcome(): WarmUpOutcome | undefined {
    return this.#outcome
  }

  /** Resolves with how it went. Never rejects. */
  get settled(): Promise<WarmUpOutcome> {
    return this.#settled.promise
  }

  /** Whether it has come to a good end within `timeoutMs`, and before `signal` aborts. */
  async isReadyWithin({ clock, timeoutMs, signal }: WarmUpPatience): Promise<boolean> {
    if (this.#outcome === undefined) {
      const over = Promise.withResolvers<void>()
      const timer = clock.setTimer(timeoutMs, over.resolve)
      const forget = onAbort(signal, over.resolve)
      await Promise.race([this.settled, over.promise])
      timer.cancel()
      forget()
    }
    return this.#outcome?.kind === 'ready' && !signal.aborted && !this.#term.signal.aborted
  }

  /** Whether every task has settled and the cleanups are under way, or over. */
  get isCleaning(): boolean {
    return this.#term.scope.isCleaning || this.#term.taskCount === 0
  }

  /** From now on failures of its tasks are reported to another listener. */
  adopt(leadership: Leadership | undefined, onLateFailure: ControllerWarmUpOptions['onLateFailure']): void {
    this.#term.follow(leadership)
    this.#onLateFailure = onLateFailure
  }

  /** Tells everything that it has started to end, at once: nothing of it deserves to finish. */
  end(why: string): void {
    this.#term.hardAbort(new WarmUpOverError(this.name, why))
    this.#settle({ kind: 'cancelled' })
  }

  /** Resolves when nothing of it is left. Never rejects. */
  async join(): Promise<void> {
    await this.#term.scope.join()
    this.#term.over()
  }

  /** Its hard signal, where the scope is its own. */
  hardSignalOf(scope: TaskScope): AbortSignal | undefined {
    return this.#term.scope === scope ? this.#term.hardSignal : undefined
  }

  /** The tasks that have not settled. */
  liveTasks(): readonly LiveTask[] {
    return this.#term.scope.liveTasks()
  }

  #failed(error: unknown, task: string): void {
    if (this.#term.isEchoOfEnd(error)) return
    if (this.#outcome !== undefined) this.#onLateFailure(error, task)
    else this.#settle({ kind: 'failed', error })
  }

  #settle(outcome: WarmUpOutcome): void {
    this.#outcome ??= outcome
    this.#settled.resolve(outcome)
  }
}

/** A controller whose property cannot be read fails when it is called. */
function canWarmUp(controller: Controller): boolean {
  try {
    return controller.warmUp !== undefined
  } catch {
    return true
  }
}
