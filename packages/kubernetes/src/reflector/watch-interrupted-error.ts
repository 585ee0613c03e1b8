import { TenureError } from '@tenure/core'

/** A watch ended, went silent, or sent invalid data. It is being re-established. */
export class WatchInterruptedError extends TenureError {
  override readonly code = 'WATCH_INTERRUPTED'
}
