import { TenureError } from '../tenure-error.ts'

/** The reason of the signal of the cleanups: half of their time is up. */
export class CleanupTimeoutError extends TenureError {
  override readonly code = 'CLEANUP_TIMEOUT'

  constructor(controller: string, timeoutMs: number) {
    super(`The cleanups of controller \`${controller}\` must end now: half of their ${timeoutMs} ms is up`)
  }
}
