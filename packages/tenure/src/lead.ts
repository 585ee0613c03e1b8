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

function assertArguments(options: CreateManagerOptions | undefined, work: unknown): void {
  const error = wrongArgument(options, work)
  if (error === undefined) return
  exitWithCodeUnlessHandled(error)
  throw error
}

function wrongArgument(options: CreateManagerOptions | undefined, work: unknown): OptionsError | undefined {
  const remedy = "Write `lead({ lease: { name: 'janitor' } }, async (term) => { … })`"
  if (typeof options === 'function') {
    return OptionsError.expected('`options` of `lead(options, work)` to be an object', options, { remedy })
  }
  if (typeof work !== 'function') {
    return OptionsError.expected('`work` of `lead(options, work)` to be a function', work, { remedy })
  }
  if (options?.rollout !== 'never-lead') return undefined
  return OptionsError.expected('`rollout` of `lead()` to let this replica lead', options.rollout, {
    remedy: 'Use `createManager()` for a replica that only follows',
  })
}
