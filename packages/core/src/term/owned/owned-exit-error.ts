import { TenureError } from '../../tenure-error.ts'

/** A child process or worker thread failed before its term began to end. */
export class OwnedExitError extends TenureError {
  override readonly code = 'OWNED_EXIT'
  /** Null if a signal ended the process. */
  readonly exitCode: number | null
  /** The signal that ended it. Null when it exited by itself. */
  readonly signal: NodeJS.Signals | null

  constructor(name: string, exitCode: number | null, signal: NodeJS.Signals | null = null) {
    super(`\`${name}\` ended before its term: ${signal === null ? `exit code ${exitCode}` : `killed by ${signal}`}`)
    this.exitCode = exitCode
    this.signal = signal
  }
}
