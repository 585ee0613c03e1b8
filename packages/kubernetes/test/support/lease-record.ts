import type { LeaseRecord } from '@tenure/core'

/** A lease that `a` holds. */
export const record: LeaseRecord = {
  holderIdentity: 'a',
  leaseDurationSeconds: 15,
  acquireTime: '2026-01-02T03:04:05.000001Z',
  renewTime: '2026-01-02T03:04:06.000002Z',
  leaseTransitions: 0,
  annotations: {},
}
