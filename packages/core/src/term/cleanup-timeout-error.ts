import { TenureError } from '../tenure-error.ts'

/** The cleanups of a controller have used up half of their time. The reason with which their signal aborts. */
export class CleanupTimeoutError extends TenureError {
  override readonly code = 'CLEANUP_TIMEOUT'

  constructor(controller: string, timeoutMs: number) {
    super(`The cleanups of controller \`${controller}\` have to end: half of their ${timeoutMs} ms are over`)
  }
}
