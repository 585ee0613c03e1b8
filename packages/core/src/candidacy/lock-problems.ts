import { type LockFailure, LockRequestError } from '../lock/lock-request-error.ts'

/** Failures that every further attempt would meet again. */
const REFUSALS: ReadonlySet<LockFailure> = new Set(['not-found', 'unauthenticated', 'forbidden', 'rejected'])

/** The last failures of the requests to a lock. */
export class LockProblems {
  #last: Error | undefined
  #refusal: Error | undefined

  /** The error of the last request, until one succeeds. */
  get last(): Error | undefined {
    return this.#last
  }

  /** Why the last attempt to acquire was refused, if another attempt would be refused too. Undefined once the lease is held. */
  get refusal(): Error | undefined {
    return this.#refusal
  }

  failed(purpose: string, error: Error): void {
    this.#last = error
    const isRefusal = error instanceof LockRequestError && REFUSALS.has(error.failure)
    if (purpose === 'acquire' && isRefusal) this.#refusal = error
  }

  succeeded(): void {
    this.#last = undefined
  }

  acquired(): void {
    this.#refusal = undefined
  }
}
