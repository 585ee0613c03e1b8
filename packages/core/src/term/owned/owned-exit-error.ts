import { TenureError } from '../../tenure-error.ts'

/** A child process or worker thread ended badly by itself while its term lasts. */
export class OwnedExitError extends TenureError {
  override readonly code = 'OWNED_EXIT'
  /** Null when a signal ended it. */
  readonly exitCode: number | null
  /** The signal that ended it. Null when it exited by itself. */
  readonly signal: NodeJS.Signals | null

  constructor(name: string, exitCode: number | null, signal: NodeJS.Signals | null = null) {
    super(
      `\`${name}\` ended while its term lasts: ${signal === null ? `exit code ${exitCode}` : `killed by ${signal}`}`,
    )
    this.exitCode = exitCode
    this.signal = signal
  }
}
