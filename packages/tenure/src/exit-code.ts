import { LeadershipLostError, OptionsError, WedgedError } from '@tenure/core'
import { KubeConfigError } from '@tenure/kubernetes'

/**
 * With what code the process ends, by what ended it.
 *
 * | code | meaning |
 * |---|---|
 * | 0 | a clean stop |
 * | 1 | it failed |
 * | 2 | an option, the environment or the kubeconfig is wrong |
 * | 10 | the lease was lost while the gate `GracefulLeaderTransition` is off |
 * | 11 | a drain did not end in time |
 */
export const EXIT_CODE = { clean: 0, failed: 1, badOptions: 2, leadershipLost: 10, wedged: 11 } as const

/** The exit code that belongs to an error; the highest one to several of them. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof AggregateError) return Math.max(EXIT_CODE.failed, ...error.errors.map(exitCodeOf))
  if (error instanceof LeadershipLostError) return EXIT_CODE.leadershipLost
  if (error instanceof WedgedError) return EXIT_CODE.wedged
  const isBadInput = error instanceof OptionsError || error instanceof KubeConfigError
  return isBadInput ? EXIT_CODE.badOptions : EXIT_CODE.failed
}

let isOwnExit = false

/** Ends the process. {@link isExitOfTenure} tells this from an exit of the program. */
export function exitProcess(code: number): never {
  isOwnExit = true
  try {
    return process.exit(code)
  } finally {
    isOwnExit = false
  }
}

/** Whether Tenure itself ends the process at this moment. */
export function isExitOfTenure(): boolean {
  return isOwnExit
}

/** Errors of which Node has yet to find out whether somebody handles them. One listener of the process looks out for all. */
const undecided = new Set<unknown>()

/**
 * Gives the process the exit code of `error` if nobody handles it.
 *
 * Node ends a process with code 1 for every error that nobody handles. This looks on, for as long as it takes Node to find out
 * whether the error is handled, and leaves no listener behind.
 */
export function exitWithCodeUnlessHandled(error: unknown): void {
  if (undecided.size === 0) process.on('uncaughtExceptionMonitor', onUncaught)
  undecided.add(error)
  setImmediate(() => {
    undecided.delete(error)
    if (undecided.size === 0) process.removeListener('uncaughtExceptionMonitor', onUncaught)
  })
}

function onUncaught(error: unknown): void {
  if (undecided.delete(error)) process.once('exit', () => (process.exitCode = exitCodeOf(error)))
}
