import type { LeaseRecord } from '@tenure/core'
import { ApiRequestError } from '../client/api-request-error.ts'

/**
 * Clears the holder of a lease, if it is still at the version that `update` replaces. The controller names only other holders than the
 * present one: it waits forever for a candidate that answers its pings and does not acquire the lease, as client-go does if another
 * candidate was preferred too early. The times stay, so that replicas that still protect an earlier holder go on doing so: only a release by
 * the holder itself has new times.
 */
export async function freeStuckLease(
  { preferredHolder: _preferred, ...record }: LeaseRecord,
  update: (record: LeaseRecord) => Promise<unknown>,
): Promise<void> {
  try {
    await update({ ...record, holderIdentity: '', leaseDurationSeconds: 1 })
  } catch (error) {
    // Another replica was faster, or the holder has come.
    const isOver = error instanceof ApiRequestError && ['conflict', 'not-found'].includes(error.failure)
    if (!isOver) throw error
  }
}

/** Whether a read finds that its object is gone. */
export async function isGone(read: Promise<unknown>): Promise<boolean> {
  try {
    await read
    return false
  } catch (error) {
    return error instanceof ApiRequestError && error.failure === 'not-found'
  }
}
