import type { LeaseRecord } from '@tenure/core'
import { formatMicroTime } from '@tenure/core/internal'
import { ApiRequestError } from '../client/api-request-error.ts'

/**
 * Releases a lease that has expired for long, as its holder would have done, if it is still at the version that `update` replaces. The
 * controller names only other holders: it waits forever for a candidate that answers its pings and does not acquire the lease, as client-go does
 * if another candidate was preferred too early.
 */
export async function freeStuckLease(
  stuck: LeaseRecord,
  wallTime: number,
  update: (record: LeaseRecord) => Promise<unknown>,
): Promise<void> {
  const { preferredHolder: _, ...record } = stuck
  const time = formatMicroTime(wallTime)
  try {
    await update({ ...record, holderIdentity: '', leaseDurationSeconds: 1, acquireTime: time, renewTime: time })
  } catch (error) {
    // Another replica was faster, or the holder has come.
    const isOver = error instanceof ApiRequestError && ['conflict', 'not-found'].includes(error.failure)
    if (!isOver) throw error
  }
}
