import { objectAt, stringAt } from '../json-object.ts'
import { LEASES, leaseBody, parseLeaseRecord } from '../locks/lease/lease-object.ts'
import type { LockCodec } from '../locks/lease/object-lock.ts'

/** A Lease with the field that asks a holder to make way. */
export const COORDINATED_LEASE: LockCodec = {
  resource: LEASES,
  title: 'lease',
  parse: (object) => ({
    ...parseLeaseRecord(object),
    preferredHolder: stringAt(objectAt(object, 'spec'), 'preferredHolder'),
  }),
  body: (stored, metadata, record) => {
    const body = leaseBody(stored, metadata, record)
    return { ...body, spec: { ...objectAt(body, 'spec'), preferredHolder: record.preferredHolder } }
  },
}
