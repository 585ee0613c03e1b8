import type { Clock } from '../ports/clock.ts'
import { TenureError } from '../tenure-error.ts'
import { onAbort } from '../on-abort.ts'
import { type TaskScope, taskScopeOf } from './task-scope.ts'

/** A task waited for something that waits for the task to end, such as `manager.stepDown()` in a task of the term. */
export class SelfWaitError extends TenureError {
  override readonly code = 'SELF_WAIT'

  constructor(controller: string, call: string) {
    super(
      `A task of controller \`${controller}\` waits for \`${call}\`, which waits for that task to end. ` +
        'Do not await it in a task of the term; `term.stepDown()` returns at once',
    )
  }
}

/** What an {@link OutsideWait} is about. */
export interface OutsideWaitOptions {
  /** What was called, for messages. */
  readonly call: string
  /** The hard signal of the run that the scope belongs to, where that is among what is waited for. */
  readonly hardSignalOf: (scope: TaskScope) => AbortSignal | undefined
  /** How long a task may take to react to the hard abort. */
  readonly abortGraceMs: number
  readonly clock: Clock
  /** Called when a task waits for itself. */
  readonly onSelfWait: (error: SelfWaitError) => void
}

/**
 * The promise of something that waits for tasks to end: for everybody but those tasks. One of them that waits for it would never end,
 * and wedge its term. It is reported at once, and its wait is rejected with a {@link SelfWaitError} halfway through the grace of the hard
 * abort: not before, because who waits there may as well be none of its tasks, but something that one of them has called.
 *
 * Which task waits is known from the asynchronous context of the call of `then()`. What waits for an answer of something else that
 * waits is not seen.
 */
export class OutsideWait<T> extends Promise<T> {
  #options: OutsideWaitOptions | undefined
  #isReported = false

  /** Derived promises are ordinary ones. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  /** The same promise, with that check. */
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

/** Rejects when half of the grace after the hard abort is over. What settles before leaves no timer. */
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
