import { TenureError } from '@tenure/core'
import type { Leak } from './leak.ts'

/** Something was left behind. The message names each leak, where it was created, by whom, and what to do about it. */
export class LeakError extends TenureError {
  override readonly code = 'LEAKS_FOUND'
  readonly leaks: readonly Leak[]

  constructor(message: string, leaks: readonly Leak[], options?: ErrorOptions) {
    super(message, options)
    this.leaks = leaks
  }
}
