import { Controller, OptionsError, type Term } from '@tenure/core'
import { createManager } from './create-manager.ts'
import { exitWithCodeUnlessHandled } from './exit-code.ts'
import type { CreateManagerOptions } from './options.ts'

/** The controller of {@link lead}. */
class Work extends Controller {
  override readonly name = 'work'
  readonly #work: (term: Term) => Promise<void>

  constructor(work: (term: Term) => Promise<void>) {
    super()
    this.#work = work
  }

  override run(term: Term): Promise<void> {
    return this.#work(term)
  }
}

/**
 * Runs `work` whenever this process leads, one term after the other, until the process stops. Resolves after a clean stop; rejects
 * with the cause otherwise. It is {@link createManager} for programs with a single controller, which is named `work`.
 *
 * Tenure restarts `work`, like any controller, if it returns or fails while the term lasts.
 *
 * @throws OptionsError naming the option that is wrong. If you do not catch it, the process exits with code 2.
 *
 * @example
 * ```ts
 * await lead({ lease: { name: 'janitor', namespace: 'ops' } }, async (term) => {
 *   await term.every(30_000, () => sweep(term))
 * })
 * ```
 */
export async function lead(options: CreateManagerOptions, work: (term: Term) => Promise<void>): Promise<void> {
  assertArguments(options, work)
  const manager = createManager(options)
  manager.register(() => new Work(work))
  await manager.start()
}

function assertArguments(options: unknown, work: unknown): void {
  if (typeof options !== 'function' && typeof work === 'function') return
  const remedy = "Write `lead({ lease: { name: 'janitor' } }, async (term) => { … })`"
  const [what, value] =
    typeof options === 'function'
      ? ['`options` of `lead(options, work)` to be an object', options]
      : ['`work` of `lead(options, work)` to be a function', work]
  const error = OptionsError.expected(what, value, { remedy })
  exitWithCodeUnlessHandled(error)
  throw error
}
