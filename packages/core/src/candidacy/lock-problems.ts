import { type LockFailure, LockRequestError } from '../lock/lock-request-error.ts'

/** The failures that do not end by themselves. */
const REFUSALS: ReadonlySet<LockFailure> = new Set(['not-found', 'unauthenticated', 'forbidden', 'rejected'])

/** What the requests to a lock last failed with. */
export class LockProblems {
  #last: Error | undefined
  #refusal: Error | undefined

  /** The error of the last request, until one succeeds. */
  get last(): Error | undefined {
    return this.#last
  }

  /** The error of the last attempt to acquire, where another attempt meets the same, until the lease is held. */
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
