import type { LeaseRecord } from '@tenure/core'
import { isJsonObject, objectAt } from '@tenure/kubernetes/internal'
import type { StoredLease } from '../cluster/leases.ts'

/** What is malformed in a lease, and what keeps replicas from acquiring it. */
export function problemsOf({ lease, object }: StoredLease): readonly string[] {
  const { record, deleting } = lease
  const spec = objectAt(object, 'spec')
  const problems: string[] = []
  if (deleting) problems.push('is being deleted, but finalizers keep it')
  if (spec['holderIdentity'] !== undefined && typeof spec['holderIdentity'] !== 'string')
    problems.push('states a holder that is no text')
  if (object['spec'] !== undefined && !isJsonObject(object['spec'])) problems.push('has a spec that is no object')
  return record.holderIdentity === '' ? problems : [...problems, ...termProblems(record)]
}

/** What the record of a term lacks. */
function termProblems(record: LeaseRecord): readonly string[] {
  const problems: string[] = []
  const { leaseDurationSeconds: seconds, acquireTime, renewTime } = record
  if (seconds === undefined || seconds <= 0) problems.push('states no duration, so it never expires for some clients')
  if (isNoTime(renewTime)) problems.push('states no renew time')
  if (isNoTime(acquireTime)) problems.push('states no acquire time')
  return problems
}

function isNoTime(text: string | undefined): boolean {
  return Number.isNaN(Date.parse(text ?? ''))
}
