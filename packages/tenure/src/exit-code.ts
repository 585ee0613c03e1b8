import { LeadershipLostError, OptionsError, WedgedError } from '@tenure/core'
import { KubeConfigError } from '@tenure/kubernetes'

/**
 * The exit codes of the process.
 *
 * | code | meaning |
 * |---|---|
 * | 0 | a clean stop |
 * | 1 | a failure |
 * | 2 | an option, the environment or the kubeconfig is wrong |
 * | 10 | the lease was lost while the gate `GracefulLeaderTransition` is off |
 * | 11 | a drain did not end in time |
 */
export const EXIT_CODE = { clean: 0, failed: 1, badOptions: 2, leadershipLost: 10, wedged: 11 } as const

/** The exit code for an error. An `AggregateError` has the highest code of its errors. */
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

/** Errors that may still be caught. One process listener serves all of them. */
const undecided = new Set<unknown>()

/**
 * Sets the exit code of the process to that of `error` if nothing catches the error.
 *
 * Node exits with code 1 for every uncaught error. This function listens until Node has decided whether the error is caught, and then
 * removes its listener.
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
