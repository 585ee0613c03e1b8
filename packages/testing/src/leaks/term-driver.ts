import { type Candidacy, type Manager, OptionsError, type StepDownResult } from '@tenure/core'
import { AlreadyStartedError, errorOf } from '@tenure/core/internal'
import { realDelay, realNow } from './unobserved.ts'

/** How to drive a manager through its terms. */
export interface TermDriverOptions {
  readonly terms: number
  /** How long each term lasts before it is ended, in milliseconds. */
  readonly termMs: number
  /** How long a term may take to begin or to end, in milliseconds. */
  readonly timeoutMs: number
}

/** A term did not begin or end in time, or the manager failed. */
export type DriverOutcome = { readonly kind: 'done' } | { readonly kind: 'failed'; readonly error: Error }

/** Starts a new manager, runs a number of real terms and stops it. Rejects only for invalid options. */
export async function driveTerms(manager: Manager, options: TermDriverOptions): Promise<DriverOutcome> {
  if (manager.candidacies.some(({ state }) => state.kind !== 'idle')) throw alreadyStarted()
  const running = manager.start()
  const failed = running.then(() => new Error('The manager stopped before its terms were over'), errorOf)
  const driven = Promise.all(manager.candidacies.map((candidacy) => drive(candidacy, options))).then(
    () => undefined,
    (error: unknown) => error as Error,
  )
  const error = await Promise.race([driven, failed])
  if (error instanceof AlreadyStartedError) throw alreadyStarted(error)
  const stopped = await within(manager.stop(), options.timeoutMs, 'The manager did not stop')
  const problem = error ?? stopped ?? (await outcomeOf(running))
  return problem === undefined ? { kind: 'done' } : { kind: 'failed', error: problem }
}

async function drive(candidacy: Candidacy, { terms, termMs, timeoutMs }: TermDriverOptions): Promise<void> {
  for (let term = 1; term <= terms; term++) {
    await untilLeading(candidacy, timeoutMs)
    await realDelay(termMs)
    if (term === terms) return
    const ended: Promise<StepDownResult> = candidacy.stepDown({ cooldownMs: 0 })
    const problem = await within(ended, timeoutMs, `Term ${term} of \`${candidacy.lease}\` did not end`)
    if (problem !== undefined) throw problem
  }
}

async function untilLeading(candidacy: Candidacy, timeoutMs: number): Promise<void> {
  const deadline = realNow() + timeoutMs
  while (candidacy.state.kind !== 'leading') {
    if (realNow() > deadline) {
      throw new Error(
        `Expected \`${candidacy.lease}\` to be acquired within ${timeoutMs} ms, but it is ${candidacy.state.kind}` +
          (candidacy.lastProblem === undefined ? '' : `: ${candidacy.lastProblem.message}`),
      )
    }
    await realDelay(1)
  }
}

/** Returns undefined if `promise` settles in time, otherwise the failure. */
async function within(promise: Promise<unknown>, timeoutMs: number, what: string): Promise<Error | undefined> {
  const late = new Error(`${what} within ${timeoutMs} ms`)
  const settled = promise.then(
    () => undefined,
    () => undefined,
  )
  return Promise.race([settled, realDelay(timeoutMs).then(() => late)])
}

async function outcomeOf(running: Promise<void>): Promise<Error | undefined> {
  return running.then(() => undefined, errorOf)
}

function alreadyStarted(cause?: Error): OptionsError {
  return new OptionsError(
    'Expected a manager that was never started: its terms have to be driven from the first one on',
    {
      cause,
    },
  )
}
