import type { HealthRegistry } from '../health/health-registry.ts'
import type { Clock } from '../ports/clock.ts'
import type { Logger } from '../ports/logger.ts'
import { TermEndedError } from '../term-ended-error.ts'
import { ControllerTerm } from '../term/controller-term.ts'
import type { Leadership } from '../term/leadership.ts'
import { onAbort } from '../on-abort.ts'
import type { LiveTask, TaskScope } from '../term/task-scope.ts'
import type { Controller } from './controller.ts'

/** The values of {@link WarmUpMode}. */
export const WARM_UP_MODES = ['never', 'successor', 'following'] as const

/**
 * When to build a controller before its term and call its `warmUp()`.
 *
 * - `never`: a follower builds nothing.
 * - `successor`: when the leader steps down and this replica is its successor.
 * - `following`: while the replica follows.
 */
export type WarmUpMode = (typeof WARM_UP_MODES)[number]

/** The reason of the abort signals of a warm-up. */
export class WarmUpOverError extends TermEndedError {
  override readonly code = 'WARM_UP_OVER'

  constructor(controller: string, why: string) {
    super(`The warm-up of controller \`${controller}\` has ended: ${why}`)
  }
}

/** The outcome of a warm-up. `error`: why it failed. */
export type WarmUpOutcome =
  { readonly kind: 'ready' } | { readonly kind: 'cancelled' } | { readonly kind: 'failed'; readonly error: unknown }

/** Options of a {@link ControllerWarmUp}. */
export interface ControllerWarmUpOptions {
  readonly controller: Controller
  /** The name of the controller. */
  readonly name: string
  readonly lease: string
  readonly clock: Clock
  /** The logger of the controller. @default a logger that drops every line */
  readonly logger?: Logger
  readonly cleanupBudgetMs: () => number
  readonly onCleaning: () => void
  readonly onCleanupOverdue: () => void
  /** Called with a failure after the warm-up was ready, or while it ended. */
  readonly onLateFailure: (error: unknown, task: string) => void
}

/** How long to wait for the outcome of a warm-up. */
export interface WarmUpPatience {
  readonly clock: Clock
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/**
 * A controller that was built before its term, and everything that its warm-up started.
 *
 * 1. `warmUp()` is called once, before `run()`, on the same instance.
 * 2. After `end()`, nothing new begins. After `join()`, nothing is left.
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

  /** The health checks of the warm-up. The run continues with them. */
  get health(): HealthRegistry {
    return this.#term.health
  }

  /** Starts the warm-up. */
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

  /** The outcome; undefined while the warm-up runs. */
  get outcome(): WarmUpOutcome | undefined {
    return this.#outcome
  }

  /** Resolves with the outcome. Never rejects. */
  get settled(): Promise<WarmUpOutcome> {
    return this.#settled.promise
  }

  /** Whether the warm-up becomes ready within `timeoutMs`, before `signal` aborts. */
  async isReadyWithin({ clock, timeoutMs, signal }: WarmUpPatience): Promise<boolean> {
    const over = Promise.withResolvers<void>()
    const timer = clock.setTimer(timeoutMs, over.resolve)
    const forget = onAbort(signal, over.resolve)
    await Promise.race([this.settled, over.promise])
    timer.cancel()
    forget()
    return this.#outcome?.kind === 'ready' && !signal.aborted && !this.#term.signal.aborted
  }

  /** Whether every task has settled. Cleanups may be running or have ended. */
  get isCleaning(): boolean {
    return this.#term.scope.isCleaning || this.#term.taskCount === 0
  }

  /** Hands the warm-up to the run of its controller, which gets later failures. */
  adopt(leadership: Leadership | undefined, onLateFailure: ControllerWarmUpOptions['onLateFailure']): void {
    this.#term.follow(leadership)
    this.#onLateFailure = onLateFailure
  }

  /** Aborts everything that the warm-up has started. Nothing gets time to finish. */
  end(why: string): void {
    this.#term.hardAbort(new WarmUpOverError(this.name, why))
    this.#settle({ kind: 'cancelled' })
  }

  /** Resolves when nothing of it is left. Never rejects. */
  async join(): Promise<void> {
    await this.#term.scope.join()
    this.#term.over()
  }

  /** The hard signal, if the scope belongs to this warm-up. */
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

/** True if the property cannot be read: the call then fails and reports why. */
function canWarmUp(controller: Controller): boolean {
  try {
    return controller.warmUp !== undefined
  } catch {
    return true
  }
}
