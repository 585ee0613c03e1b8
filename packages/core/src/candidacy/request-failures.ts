import type { LockRequestError } from '../lock/lock-request-error.ts'
import { textOf } from '../text-of.ts'

/** How often a lasting failure is logged again. */
const REPEAT_AFTER_MS = 60_000

/** How many kinds of failures one outage distinguishes. */
const MAX_KINDS = 16

/** An outage. */
export interface Outage {
  /** How many requests failed. */
  readonly failures: number
  readonly lastedMs: number
}

/**
 * Decides which failed requests of an outage to log: the first of each kind, and a summary every minute.
 *
 * An outage lasts from the first failure to the next success. A leader sends several requests a second while it cannot renew.
 */
export class RequestFailures {
  /** When each kind of failure was logged last. */
  readonly #newsAt = new Map<string, number>()
  #since = 0
  #failures = 0

  /** Returns the outage so far if the failure should be logged; undefined otherwise. */
  failed(error: Error, now: number): Outage | undefined {
    if (this.#failures === 0) this.#since = now
    this.#failures += 1
    const kind = kindOf(error)
    const newsAt = this.#newsAt.get(kind)
    if (newsAt !== undefined && now - newsAt < REPEAT_AFTER_MS) return undefined
    // The summary covers all known kinds.
    if (newsAt !== undefined) for (const known of this.#newsAt.keys()) this.#newsAt.set(known, now)
    else if (this.#newsAt.size >= MAX_KINDS) return undefined
    this.#newsAt.set(kind, now)
    return { failures: this.#failures, lastedMs: now - this.#since }
  }

  /** Ends the outage and returns it; undefined if there was none. */
  succeeded(now: number): Outage | undefined {
    if (this.#failures === 0) return undefined
    const outage = { failures: this.#failures, lastedMs: now - this.#since }
    this.#failures = 0
    this.#newsAt.clear()
    return outage
  }
}

/** Two messages of the same failure may differ, for example in the local port. The code and the kind of failure do not differ. */
function kindOf(error: Error): string {
  const { failure } = error as Partial<LockRequestError>
  const statusCode: unknown = Reflect.get(error, 'statusCode')
  const code: unknown = error.cause instanceof Error ? Reflect.get(error.cause, 'code') : undefined
  return [error.name, failure, statusCode, code].map((part) => textOf(part)).join()
}
