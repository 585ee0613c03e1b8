import { assertKnownKeys } from '../options/known-keys.ts'
import type { Clock } from '../ports/clock.ts'
import { comparableVersion } from './bequests.ts'

/** How long a cache may take to show a version of its collection. After that it is read again. */
const PATIENCE_MS = 250

/** What a {@link CacheBarrier} needs. */
export interface CacheBarrierOptions {
  /** Measures how long the cache may take. */
  readonly clock: Clock
  /** Whether the cache has a selector, so that it may never get the event of a write. */
  readonly isSelective: boolean
  /** Reads the whole collection again, at its latest version. */
  readonly readAgain: () => void
}

/**
 * Holds back a new term until a cache from before the term shows what the term before has written.
 *
 * Kubernetes compares the resource versions of a collection as decimal numbers (KEP-5504).
 */
export class CacheBarrier {
  readonly #options: CacheBarrierOptions
  readonly #passed = Promise.withResolvers<void>()
  #seen = 0n
  #wanted: bigint | undefined
  #isReadAgain = false
  #isEnded = false
  #forget = (): void => {}

  constructor(options: CacheBarrierOptions) {
    assertKnownKeys('`new CacheBarrier()`', options, ['clock', 'isSelective', 'readAgain'])
    this.#options = options
    // A caller may ignore it.
    this.#passed.promise.catch(() => {})
  }

  /** Waits for these versions; for a new list if one of them is not a decimal number. */
  wait(versions: readonly string[]): Promise<void> {
    if (this.#isEnded) return this.#passed.promise
    const { clock, isSelective } = this.#options
    this.#wanted = greatest(versions)
    if (this.#wanted !== undefined && this.#seen >= this.#wanted) this.#pass()
    else if (this.#wanted === undefined || isSelective) this.#readAgain()
    else {
      const timer = clock.setTimer(PATIENCE_MS, () => this.#readAgain())
      this.#forget = () => timer.cancel()
    }
    return this.#passed.promise
  }

  /** The cache shows this version. */
  reached(version: string): void {
    const reached = comparableVersion(version)
    if (reached === undefined) return
    this.#seen = reached
    if (this.#wanted !== undefined && reached >= this.#wanted) this.#pass()
  }

  /** The cache shows a complete list that was requested after the last call of `readAgain`. */
  listed(version: string): void {
    if (this.#isReadAgain) this.#pass()
    this.reached(version)
  }

  /** The cache shows nothing more. */
  end(reason: unknown): void {
    this.#isEnded = true
    this.#forget()
    this.#passed.reject(reason)
  }

  #readAgain(): void {
    this.#isReadAgain = true
    this.#options.readAgain()
  }

  #pass(): void {
    this.#forget()
    this.#passed.resolve()
  }
}

/** The greatest of these versions, 0 if there is none; undefined if they cannot be compared. */
function greatest(versions: readonly string[]): bigint | undefined {
  return versions.reduce<bigint | undefined>((last, version) => {
    const number = comparableVersion(version)
    if (last === undefined || number === undefined) return undefined
    return number > last ? number : last
  }, 0n)
}
