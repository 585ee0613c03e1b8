import type { LeaseRecord } from '../lease-record.ts'
import type { LockSnapshot, PresentLease } from '../lock.ts'

/** Who leads by two locks that do not agree on it; the name that client-go gave it. */
export const UNKNOWN_LEADER = 'leaderelection.k8s.io/unknown'

/** Both leases of a `MultiLock`, each as last seen. */
export interface LeasePair {
  readonly primary: LockSnapshot
  readonly secondary: LockSnapshot
}

/** Whose record stands for both. */
type Deciding = 'both' | 'primary' | 'secondary' | 'neither'

/** What two leases are, taken for one. */
export interface Combination {
  readonly deciding: Deciding
  readonly record: LeaseRecord
}

/**
 * Takes two leases for one; undefined when both are absent.
 *
 * 1. It is free only if none of them has a holder.
 * 2. It is held by X, in a record that X wrote, only if both say so; or if one says so and the other is free and not the one
 *    that X writes as part of `own`.
 * 3. Every other combination has a holder nobody can be, and a record that changes whenever one of the two does: so it is left
 *    alone until both have stood still for the longer of their durations.
 *
 * `own` are the records that this process has sent since one of them was known to have reached both, with that one. As long as
 * only one of the two has a record, it is not written yet.
 */
export function combine(pair: LeasePair, own: readonly LeaseRecord[]): Combination | undefined {
  const { primary, secondary } = pair
  if (primary.kind === 'absent')
    return secondary.kind === 'absent' ? undefined : disagreeing(undefined, secondary.record)
  if (secondary.kind === 'absent') {
    return isHalfWritten(primary.record, own) ? disagreeing(primary.record, undefined) : decidedBy('primary', primary)
  }
  const [first, second] = [primary.record, secondary.record]
  if (first.holderIdentity === second.holderIdentity) return agreeing(first, second, own)
  if (second.holderIdentity === '' && !isHalfWritten(first, own)) return decidedBy('primary', primary)
  if (first.holderIdentity === '' && !isHalfLost(first, second, own)) return decidedBy('secondary', secondary)
  return disagreeing(first, second)
}

/** Whether two records differ in nothing but annotations. */
export function differInAnnotationsOnly(a: LeaseRecord, b: LeaseRecord): boolean {
  return (
    isWrittenAs(a, b) && a.leaseDurationSeconds === b.leaseDurationSeconds && a.leaseTransitions === b.leaseTransitions
  )
}

function decidedBy(deciding: Deciding, { record }: PresentLease): Combination {
  return { deciding, record }
}

/**
 * The secondary is written last, so it has what both have. A holder who renews the primary alone, because it was started anew
 * without the secondary, must be seen to do so; one who writes both must not lose the lease over a write that came halfway.
 */
function agreeing(first: LeaseRecord, second: LeaseRecord, own: readonly LeaseRecord[]): Combination {
  const isInStep =
    first.holderIdentity === '' ||
    inWholeSeconds(first.renewTime) === inWholeSeconds(second.renewTime) ||
    isOwn(first, own)
  const transitions = { leaseTransitions: greatest(first.leaseTransitions, second.leaseTransitions) }
  if (isInStep) return { deciding: 'both', record: { ...second, ...transitions } }
  return { deciding: 'neither', record: { ...joined(first, second), holderIdentity: first.holderIdentity } }
}

function disagreeing(first: LeaseRecord | undefined, second: LeaseRecord | undefined): Combination {
  return { deciding: 'neither', record: joined(first, second) }
}

function joined(first: LeaseRecord | undefined, second: LeaseRecord | undefined): LeaseRecord {
  const join = (key: 'acquireTime' | 'renewTime') => `${first?.[key] ?? ''},${second?.[key] ?? ''}`
  const durations = [first?.leaseDurationSeconds, second?.leaseDurationSeconds]
  return {
    holderIdentity: UNKNOWN_LEADER,
    // One that is missing counts for as long as that of a record without one does.
    leaseDurationSeconds: Math.max(...durations.map((seconds) => seconds ?? LONGEST_DEFAULT_SECONDS)),
    acquireTime: join('acquireTime'),
    renewTime: join('renewTime'),
    leaseTransitions: greatest(first?.leaseTransitions, second?.leaseTransitions),
    annotations: {},
  }
}

const LONGEST_DEFAULT_SECONDS = 15

/** The primary names this process, but the secondary does not: the other half of the write is missing. */
function isHalfWritten(primary: LeaseRecord, own: readonly LeaseRecord[]): boolean {
  return primary.holderIdentity !== '' && isOwnHolder(primary, own)
}

/** The secondary still names this process, but somebody else freed the primary. */
function isHalfLost(primary: LeaseRecord, secondary: LeaseRecord, own: readonly LeaseRecord[]): boolean {
  return isOwnHolder(secondary, own) && !isOwn(primary, own)
}

function isOwnHolder({ holderIdentity }: LeaseRecord, own: readonly LeaseRecord[]): boolean {
  return own.some((record) => record.holderIdentity === holderIdentity)
}

function isOwn(record: LeaseRecord, own: readonly LeaseRecord[]): boolean {
  return own.some((written) => isWrittenAs(record, written))
}

function isWrittenAs(a: LeaseRecord, b: LeaseRecord): boolean {
  return a.holderIdentity === b.holderIdentity && a.acquireTime === b.acquireTime && a.renewTime === b.renewTime
}

function inWholeSeconds(time: string | undefined): string | undefined {
  return time?.slice(0, '2006-01-02T15:04:05'.length)
}

function greatest(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.max(a, b)
}
