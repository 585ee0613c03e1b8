import { TenureError } from '@tenure/core'
import type { Leak } from './leak.ts'

/** The check found leaks. The message names each leak, where it was created, its controller, and how to fix it. */
export class LeakError extends TenureError {
  override readonly code = 'LEAKS_FOUND'
  /** Every leak that the check found. */
  readonly leaks: readonly Leak[]

  constructor(message: string, leaks: readonly Leak[], options?: ErrorOptions) {
    super(message, options)
    this.leaks = leaks
  }
}
