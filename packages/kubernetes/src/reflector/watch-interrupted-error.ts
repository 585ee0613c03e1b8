import { TenureError } from '@tenure/core'

/** A watch ended, went silent, or said something that is not an event. It is being re-established. */
export class WatchInterruptedError extends TenureError {
  override readonly code = 'WATCH_INTERRUPTED'
}
