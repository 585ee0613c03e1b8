import type { LeaseRecord, LockRequestOptions } from '@tenure/core'

/** A record with every field set. */
export function sampleRecord(changes: Partial<LeaseRecord> = {}): LeaseRecord {
  return {
    holderIdentity: 'replica-a',
    leaseDurationSeconds: 15,
    acquireTime: '2026-01-02T03:04:05.000001Z',
    renewTime: '2026-01-02T03:04:06.100000Z',
    leaseTransitions: 4,
    annotations: {},
    ...changes,
  }
}

/** Options of a request that is never aborted. */
export function unaborted(): LockRequestOptions {
  return { signal: new AbortController().signal }
}
