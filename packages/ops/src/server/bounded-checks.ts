import type { Clock, HealthCheckResult, HealthProbe } from '@tenure/core'

/** What {@link BoundedChecks} is made of. */
export interface BoundedChecksOptions {
  readonly clock: Clock
  readonly timeoutMs: number
}

/** What a check that has not answered in time resolves to. */
const TIMED_OUT = Symbol('timed out')

/**
 * Runs health checks and waits for none of them longer than it was told to.
 *
 * Checks are run together. Only when they are not done in time is each one run by itself, to tell which of them hangs: the
 * answer then takes up to twice the timeout.
 *
 * Owns a timer for every answer that is waited for; `close()` ends them all.
 */
export class BoundedChecks {
  readonly #options: BoundedChecksOptions
  readonly #waiting = new Set<() => void>()
  #isClosed = false

  constructor(options: BoundedChecksOptions) {
    this.#options = options
  }

  /** Runs all checks of a probe but the excluded ones. Never rejects. */
  async run(probe: HealthProbe, exclude: ReadonlySet<string>): Promise<readonly HealthCheckResult[]> {
    const names = probe.names.filter((name) => !exclude.has(name))
    const results = await this.#inTime(probe.run(exclude))
    if (results !== TIMED_OUT) return results
    const each = await Promise.all(names.map((name) => this.runOne(probe, name)))
    return each.filter((result) => result !== undefined)
  }

  /** Runs one check; resolves with undefined when there is none of that name. Never rejects. */
  async runOne(probe: HealthProbe, name: string): Promise<HealthCheckResult | undefined> {
    if (!probe.names.includes(name)) return undefined
    const result = await this.#inTime(probe.runOne(name))
    if (result !== TIMED_OUT) return result
    return { name, failure: new Error(`timed out after ${this.#options.timeoutMs} ms`) }
  }

  /** Waits for nothing any more: what has not answered counts as timed out. */
  close(): void {
    this.#isClosed = true
    for (const giveUp of this.#waiting) giveUp()
  }

  async #inTime<T>(answer: Promise<T>): Promise<T | typeof TIMED_OUT> {
    if (this.#isClosed) return TIMED_OUT
    const { promise: patience, resolve } = Promise.withResolvers<typeof TIMED_OUT>()
    const giveUp = () => resolve(TIMED_OUT)
    const timer = this.#options.clock.setTimer(this.#options.timeoutMs, giveUp)
    this.#waiting.add(giveUp)
    try {
      return await Promise.race([answer, patience])
    } finally {
      timer.cancel()
      this.#waiting.delete(giveUp)
    }
  }
}
