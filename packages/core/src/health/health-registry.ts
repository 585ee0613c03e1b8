import { errorOf } from '../error-of.ts'
import { OptionsError } from '../options/options-error.ts'

/** A health check: returns (or resolves) when healthy, throws (or rejects) with the reason when not. */
export type HealthCheck = () => void | Promise<void>

/** The outcome of one check. */
export interface HealthCheckResult {
  /** The name of the check, with the prefix of its registry. */
  readonly name: string
  /** Why the check failed; absent when it passed. */
  readonly failure?: Error
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/

/** Named health checks. Runs them on demand and keeps no result. */
export class HealthRegistry {
  readonly #checks = new Map<string, HealthCheck>()
  #closed: Error | undefined

  /**
   * Adds a check and returns the function that removes it.
   * @throws OptionsError when the name is taken or cannot be a path segment (`[A-Za-z0-9._-]+`), or `check` is not a function.
   * @throws TermEndedError when the registry belongs to a run that has ended.
   */
  register(name: string, check: HealthCheck): () => void {
    if (this.#closed !== undefined) throw this.#closed
    if (typeof name !== 'string' || !NAME.test(name)) {
      throw OptionsError.expected('the name of a health check to be a path segment such as `cache-synced`', name)
    }
    if (typeof check !== 'function') {
      throw OptionsError.expected(`the health check \`${name}\` to be a function`, check)
    }
    if (this.#checks.has(name)) {
      throw new OptionsError(`Expected the name of a health check to be unique, got \`${name}\` twice`)
    }
    this.#checks.set(name, check)
    return () => {
      if (this.#checks.get(name) === check) this.#checks.delete(name)
    }
  }

  /** The names of all checks, in the order of registration. */
  get names(): readonly string[] {
    return [...this.#checks.keys()]
  }

  /** Removes every check. From now on, `register()` throws `error`. */
  close(error: Error): void {
    this.#closed ??= error
    this.#checks.clear()
  }

  /** Runs all checks except the excluded ones and reports each, in the order of registration. Never rejects. */
  async run(exclude: ReadonlySet<string> = new Set()): Promise<readonly HealthCheckResult[]> {
    const selected = [...this.#checks].filter(([name]) => !exclude.has(name))
    return Promise.all(selected.map(([name, check]) => runCheck(name, check)))
  }
}

async function runCheck(name: string, check: HealthCheck): Promise<HealthCheckResult> {
  try {
    await check()
    return { name }
  } catch (cause) {
    return { name, failure: errorOf(cause) }
  }
}
