import {
  type Controller,
  type ControllerFactory,
  type LeaseOptions,
  Manager,
  type ManagerOptions,
  MemoryLeaseStore,
  OptionsError,
} from '@tenure/core'
import { assertKnownKeys } from '@tenure/core/internal'
import { startRecording } from './detector.ts'
import { LeakError } from './leak-error.ts'
import { LeakFinder } from './leak-finder.ts'
import { LEAK_WATCH_OPTION_NAMES, type LeakWatchOptions, resolveLeakWatchOptions, resolveNumber } from './options.ts'
import { takeTrace } from './trace.ts'
import { placeOfCall } from './watch-place.ts'
import { driveTerms, type TermDriverOptions } from './term-driver.ts'

/** Options of {@link expectNoLeaks}. */
export interface ExpectNoLeaksOptions extends LeakWatchOptions {
  /** How many terms to run. At least two are needed to show that every term leaks. @default 5 */
  readonly terms?: number
  /** How long each term lasts, in milliseconds. @default 20 */
  readonly termMs?: number
  /** Time limit for a term to begin, and again for it to end, in milliseconds. @default 2000 */
  readonly termTimeoutMs?: number
  /**
   * Number of terms to run before the watch begins. Use it when the first term creates something that the process keeps.
   * @default 0
   */
  readonly warmUpTerms?: number
}

/** The manager options for a test: an identity, a lease, and a lock in memory. */
export type LeakTestKit = Pick<ManagerOptions, 'identity' | 'lease' | 'createLock'>

/** A manager that was not started, a function that creates a manager, or a controller factory. */
export type LeakTestSubject = Manager | ((kit: LeakTestKit) => Manager | Controller | Promise<Manager>)

const OPTION_NAMES = [...LEAK_WATCH_OPTION_NAMES, 'terms', 'termMs', 'termTimeoutMs', 'warmUpTerms']

/**
 * Runs real terms one after the other in this process, stops, and fails on every leak.
 *
 * Calls a function once with a kit that has a lock in memory, and a second time for warm-up terms. A manager keeps its own lock.
 *
 * @example
 * ```ts
 * await expectNoLeaks(() => new Janitor(), { terms: 5 })
 * await expectNoLeaks((kit) => new Manager({ ...kit, logger }).register(() => new Janitor()))
 * ```
 * @throws LeakError (as a rejection) that names every leak. @throws OptionsError (as a rejection) for invalid options or a manager
 * that was already started. @throws Error (as a rejection) when a term does not begin or end and no leak explains it.
 */
export async function expectNoLeaks(subject: LeakTestSubject, options: ExpectNoLeaksOptions = {}): Promise<void> {
  const { driver, warmUp, watch } = resolve(options)
  assertSubject(subject, warmUp.terms)
  const trace = takeTrace()
  if (warmUp.terms > 0) await driveOrThrow(subject, warmUp)
  const recording = startRecording()
  const finder = new LeakFinder(recording, watch, () => placeOfCall(trace))
  try {
    const outcome = await driveTerms(await managerOf(subject), driver)
    const isStuck = outcome.kind === 'failed'
    const { leaks, report } = await finder.findUnreported(isStuck ? 0 : watch.graceMs)
    const cause = outcome.kind === 'failed' ? outcome.error : undefined
    if (leaks.length > 0) throw new LeakError(headline(report, cause), leaks, { cause })
    if (cause !== undefined) throw cause
  } finally {
    recording.end()
  }
}

interface Plan {
  readonly driver: TermDriverOptions
  readonly warmUp: TermDriverOptions
  readonly watch: ReturnType<typeof resolveLeakWatchOptions>
}

function resolve(options: ExpectNoLeaksOptions): Plan {
  assertKnownKeys('`expectNoLeaks()`', options, OPTION_NAMES)
  const driver = {
    terms: resolveNumber('terms', options.terms, { fallback: 5, min: 1, isWhole: true }),
    termMs: resolveNumber('termMs', options.termMs, { fallback: 20, min: 0 }),
    timeoutMs: resolveNumber('termTimeoutMs', options.termTimeoutMs, { fallback: 2000, min: 1 }),
  }
  const warmUpTerms = resolveNumber('warmUpTerms', options.warmUpTerms, { fallback: 0, min: 0, isWhole: true })
  return { driver, warmUp: { ...driver, terms: warmUpTerms }, watch: resolveLeakWatchOptions(options) }
}

function assertSubject(subject: unknown, warmUpTerms: number): void {
  if (typeof subject !== 'function' && !(subject instanceof Manager)) {
    throw OptionsError.expected(
      `\`expectNoLeaks()\` to be given a Manager, or a function that makes a Manager or a Controller`,
      subject,
    )
  }
  if (warmUpTerms > 0 && subject instanceof Manager) {
    throw new OptionsError('Expected a function that makes the manager: `warmUpTerms` need a manager of their own')
  }
}

async function driveOrThrow(subject: LeakTestSubject, options: TermDriverOptions): Promise<void> {
  const outcome = await driveTerms(await managerOf(subject), options)
  if (outcome.kind === 'failed') throw outcome.error
}

async function managerOf(subject: LeakTestSubject): Promise<Manager> {
  if (subject instanceof Manager) return subject
  const kit = createKit()
  const made: unknown = await subject(kit)
  if (made instanceof Manager) return made
  if (isController(made)) return new Manager(kit).register(startingWith(made, subject as () => Controller))
  throw OptionsError.expected(`the function to return a Manager or a Controller`, made)
}

/** The first term uses the controller that `managerOf()` already created to inspect it. */
function startingWith(first: Controller, factory: ControllerFactory): ControllerFactory {
  let next: Controller | undefined = first
  return () => {
    const controller = next ?? factory()
    next = undefined
    return controller
  }
}

function isController(made: unknown): made is Controller {
  return typeof made === 'object' && made !== null && typeof Reflect.get(made, 'run') === 'function'
}

function createKit(): LeakTestKit {
  const store = new MemoryLeaseStore()
  return {
    identity: 'leak-test',
    lease: { name: 'leak-test' },
    createLock: ({ name }: LeaseOptions) => store.lock(name),
  }
}

function headline(report: string, cause: Error | undefined): string {
  return cause === undefined ? report : `${cause.message}. ${report}`
}
