import type { Clock } from '../ports/clock.ts'
import { TenureError } from '../tenure-error.ts'
import { onAbort } from '../on-abort.ts'
import { type TaskScope, taskScopeOf } from './task-scope.ts'

/** A task awaited something that waits for the task to end, such as `manager.stepDown()` in a task of the term. */
export class SelfWaitError extends TenureError {
  override readonly code = 'SELF_WAIT'

  constructor(controller: string, call: string) {
    super(
      `A task of controller \`${controller}\` awaits \`${call}\`, which waits for that task to end. ` +
        'Do not await it in a task of the term; `term.stepDown()` returns immediately',
    )
  }
}

/** Options of an {@link OutsideWait}. */
export interface OutsideWaitOptions {
  /** The name of the call, for messages. */
  readonly call: string
  /** The hard signal of the run that owns the scope, if the promise waits for that run. */
  readonly hardSignalOf: (scope: TaskScope) => AbortSignal | undefined
  /** How long a task may take to react to the hard abort. */
  readonly abortGraceMs: number
  readonly clock: Clock
  /** Called when a task waits for itself. */
  readonly onSelfWait: (error: SelfWaitError) => void
}

/**
 * A promise that waits for tasks to end. If one of those tasks awaits it, the task never ends and wedges its term. That is reported
 * immediately. The await rejects with a {@link SelfWaitError} halfway through the grace period after the hard abort. It does not reject
 * earlier, because the caller may be code that a task has started and does not wait for.
 *
 * The asynchronous context of `then()` identifies the task. An indirect wait is not detected.
 */
export class OutsideWait<T> extends Promise<T> {
  #options: OutsideWaitOptions | undefined
  #isReported = false

  /** Derived promises are ordinary promises. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  /** Adds the check to a promise. */
  static around<T>(promise: Promise<T>, options: OutsideWaitOptions): Promise<T> {
    const wait = new OutsideWait<T>((resolve) => resolve(promise))
    wait.#options = options
    return wait
  }

  // oxlint-disable-next-line unicorn/no-thenable -- it is a promise, and `await` calls this
  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    const scope = taskScopeOf()
    const options = this.#options
    const hardSignal = scope && options?.hardSignalOf(scope)
    if (scope === undefined || options === undefined || hardSignal === undefined) {
      return super.then(onFulfilled, onRejected)
    }
    const error = new SelfWaitError(scope.controller, options.call)
    if (!this.#isReported) options.onSelfWait(error)
    this.#isReported = true
    const given = rejectLate<T>(hardSignal, error, options)
    super.then(given.resolve, given.reject)
    return given.promise.then(onFulfilled, onRejected)
  }
}

/** Rejects after half of the grace period after the hard abort. Leaves no timer if the promise settles first. */
function rejectLate<T>(
  signal: AbortSignal,
  error: SelfWaitError,
  { clock, abortGraceMs }: Pick<OutsideWaitOptions, 'clock' | 'abortGraceMs'>,
): Pick<PromiseWithResolvers<T>, 'promise' | 'resolve' | 'reject'> {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const over = Promise.withResolvers<void>()
  const forget = onAbort(signal, () => {
    const timer = clock.setTimer(abortGraceMs / 2, () => reject(error))
    void over.promise.then(() => timer.cancel())
  })
  const end =
    <A>(settle: (value: A) => void) =>
    (value: A): void => {
      forget()
      over.resolve()
      settle(value)
    }
  return { promise, resolve: end(resolve), reject: end(reject) }
}
