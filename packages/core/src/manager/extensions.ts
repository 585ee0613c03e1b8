import type { CandidacyEvent } from '../candidacy/events.ts'
import { assertOneOf } from '../options/one-of.ts'
import { OptionsError } from '../options/options-error.ts'
import type { Clock } from '../ports/clock.ts'
import { TenureError } from '../tenure-error.ts'
import type { TermExtension } from '../term/term-extension.ts'
import { EXTENSION_GROUPS, type Extension, type ExtensionGroup, type ExtensionHost } from './extension.ts'
import type { ResolvedGroupOptions } from './group-options.ts'

/** An extension did not stop within the time of its group. The manager no longer waits for it. */
export class ExtensionOverdueError extends TenureError {
  override readonly code = 'EXTENSION_OVERDUE'

  constructor(extension: string, group: ExtensionGroup, stopTimeoutMs: number) {
    super(`Extension \`${extension}\` did not stop within the ${stopTimeoutMs} ms of the group \`${group}\``)
  }
}

/** Options of {@link Extensions}. */
export interface ExtensionsOptions {
  readonly groups: ResolvedGroupOptions
  readonly clock: Clock
  readonly onFailure: (error: unknown) => void
}

/** The extensions of a manager. Starts and stops them in order, with a stop timeout for each group. Forwards events and terms to them. */
export class Extensions {
  readonly #options: ExtensionsOptions
  readonly #used: UsedExtension[] = []
  readonly #started: UsedExtension[] = []
  readonly #termExtensions: TermExtension[] = []
  readonly #listeners: ((event: CandidacyEvent) => void)[] = []

  constructor(options: ExtensionsOptions) {
    this.#options = options
  }

  /** The extensions that attach to every run, in the order of `use()`. The array grows until the start. */
  get termExtensions(): readonly TermExtension[] {
    return this.#termExtensions
  }

  /** Adds an extension. @throws OptionsError for a value that is not an extension, or was added before. */
  use(extension: Extension): void {
    assertExtension(extension)
    if (this.#used.some((other) => other.extension === extension)) {
      throw new OptionsError(`Expected \`use()\` to be called once for each extension, got \`${extension.name}\` twice`)
    }
    // Read the property once: a getter that throws later would keep the others from stopping.
    this.#used.push({ extension, group: extension.group ?? 'servers' })
    this.#listeners.push((event) => extension.onEvent?.(event))
    this.#termExtensions.push({ attach: (term) => extension.onTerm?.(term) ?? (() => {}) })
  }

  /** Starts the extensions, unless the manager begins to stop. Rejects when one fails to start; the previous ones keep running. */
  async start(host: ExtensionHost, isStopping: () => boolean): Promise<void> {
    for (const group of EXTENSION_GROUPS) {
      for (const candidate of this.#used.filter((candidate) => candidate.group === group)) {
        if (isStopping()) return
        await candidate.extension.start?.(host)
        this.#started.push(candidate)
      }
    }
  }

  /** Forwards an event to every extension, in the order of `use()`. */
  get listeners(): readonly ((event: CandidacyEvent) => void)[] {
    return this.#listeners
  }

  /**
   * Stops the extensions that have started. Resolves when all have stopped or timed out. After that none receives events. Never rejects.
   */
  async stop(): Promise<void> {
    const started = this.#started.splice(0).toReversed()
    for (const group of EXTENSION_GROUPS.toReversed()) {
      await this.#stopGroup(
        group,
        started.flatMap((candidate) => (candidate.group === group ? [candidate.extension] : [])),
      )
    }
    this.#listeners.length = 0
  }

  /** Stops the extensions of a group in reverse order. After the stop timeout it no longer waits for them. */
  async #stopGroup(group: ExtensionGroup, extensions: readonly Extension[]): Promise<void> {
    const { clock, groups, onFailure } = this.#options
    const { stopTimeoutMs } = groups[group]
    const over = Promise.withResolvers<'overdue'>()
    const timer = clock.setTimer(stopTimeoutMs, () => over.resolve('overdue'))
    let isOverdue = false
    for (const extension of extensions) {
      const stopped = stop(extension)
      // An overdue extension may still fail.
      stopped.catch(() => {})
      if (isOverdue) continue
      try {
        isOverdue = (await Promise.race([stopped, over.promise])) === 'overdue'
        if (isOverdue) onFailure(new ExtensionOverdueError(extension.name, group, stopTimeoutMs))
      } catch (error) {
        onFailure(error)
      }
    }
    timer.cancel()
  }
}

interface UsedExtension {
  readonly extension: Extension
  readonly group: ExtensionGroup
}

async function stop(extension: Extension): Promise<'stopped'> {
  await extension.stop?.()
  return 'stopped'
}

const METHODS = ['start', 'stop', 'onEvent', 'onTerm'] as const satisfies (keyof Extension)[]

function assertExtension(extension: Extension): void {
  if (typeof extension !== 'object' || extension === null) {
    throw OptionsError.expected('`use()` to be given an extension', extension)
  }
  if (typeof extension.name !== 'string' || extension.name === '') {
    throw OptionsError.expected('the `name` of an extension to be a text that is not empty', extension.name)
  }
  assertOneOf('group', extension.group, EXTENSION_GROUPS)
  const given = METHODS.filter((method) => extension[method] !== undefined)
  const [wrong] = given.filter((method) => typeof extension[method] !== 'function')
  if (wrong !== undefined) {
    throw OptionsError.expected(`\`${wrong}\` of extension \`${extension.name}\` to be a function`, extension[wrong])
  }
  if (given.length === 0) {
    throw new OptionsError(`Expected extension \`${extension.name}\` to have one of ${METHODS.join(', ')}, got none`)
  }
}
