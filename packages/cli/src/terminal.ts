import type { Clock } from '@tenure/core'
import { onAbort, type Random } from '@tenure/core/internal'

/** Where a command runs: its output, its environment and its time. Tests pass their own. */
export interface Terminal {
  /** Writes to the standard output. */
  readonly out: (text: string) => void
  /** Writes to the standard error. */
  readonly err: (text: string) => void
  /** The width of the terminal in columns; undefined if the standard output is no terminal. */
  readonly columns: number | undefined
  /**
   * Calls a listener with every key that is pressed, Ctrl-C included, until the returned function is called. Undefined if the standard
   * input or output is no terminal.
   */
  readonly keys: ((listener: (key: string) => void) => () => void) | undefined
  readonly env: NodeJS.ProcessEnv
  readonly clock: Clock
  readonly random: Random
  /** Aborts at SIGINT and SIGTERM, and when nobody reads the output any more. */
  readonly interrupted: AbortSignal
}

/** What commands share. */
export interface Invocation {
  readonly terminal: Terminal
  /** The exit code of the process. @default 0 */
  exitCode: number
}

/** Resolves after a time, or at once when the signal aborts. */
export function pause({ clock }: Pick<Terminal, 'clock'>, ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = clock.setTimer(ms, resolve)
  const forget = onAbort(signal, resolve)
  return promise.finally(() => {
    timer.cancel()
    forget()
  })
}

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  onAbort(signal, resolve)
  return promise
}
