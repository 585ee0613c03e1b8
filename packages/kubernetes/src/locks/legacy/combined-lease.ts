import type { LeaseRecord, LockSnapshot, PresentLease } from '@tenure/core'

/** The holder of two locks that name different holders, as client-go calls it. */
export const UNKNOWN_LEADER = 'leaderelection.k8s.io/unknown'

/** Both leases of a `MultiLock`, each as last seen. */
export interface LeasePair {
  readonly primary: LockSnapshot
  readonly secondary: LockSnapshot
  /** The last record seen in each lease, which may be deleted by now. */
  readonly deleted?: { readonly primary: LeaseRecord | undefined; readonly secondary: LeaseRecord | undefined }
}

/** The lease whose record decides. */
type Deciding = 'both' | 'primary' | 'secondary' | 'neither'

/** Two leases, combined into one. */
export interface Combination {
  readonly deciding: Deciding
  readonly record: LeaseRecord
}

/**
 * Combines two leases; undefined when both are absent.
 *
 * 1. The combination is free only if neither lease has a holder.
 * 2. X holds it, in a record that X wrote, only if both leases name X; or if one lease names X and the other is free and not the
 *    lease that X writes as part of `own`.
 * 3. Every other combination has a holder that no replica can be, and a record that changes whenever either lease changes. So
 *    followers leave it alone until neither has changed for the longer of their durations.
 * 4. An absent lease counts as free. If it was seen with a holder before its deletion, it counts as held for the duration of
 *    that record. If a lease is deleted under this process, the combination is absent.
 *
 * `own` are the records that this process has sent since the last one known to have reached both leases, including that one. A
 * record that only one of the leases has is not yet written.
 */
export function combine(pair: LeasePair, own: readonly LeaseRecord[]): Combination | undefined {
  const { primary, secondary, deleted } = pair
  if (primary.kind === 'present' && secondary.kind === 'present') return bothPresent(primary, secondary, own)
  if (primary.kind === 'present') {
    return besideAbsent({ left: primary, deciding: 'primary' }, { own, gone: deleted?.secondary })
  }
  if (secondary.kind === 'present') {
    return besideAbsent({ left: secondary, deciding: 'secondary' }, { own, gone: deleted?.primary })
  }
  return undefined
}

function bothPresent(primary: PresentLease, secondary: PresentLease, own: readonly LeaseRecord[]): Combination {
  const [first, second] = [primary.record, secondary.record]
  if (first.holderIdentity === second.holderIdentity) return agreeing(first, second, own)
  // If the primary names this process, the other half of the write is missing.
  if (second.holderIdentity === '' && !isOwnHolder(first, own)) return decidedBy('primary', primary)
  if (first.holderIdentity === '' && !isHalfLost(first, second, own)) return decidedBy('secondary', secondary)
  return disagreeing(first, second)
}

/** Combines a lease with an absent one. */
function besideAbsent(
  { left, deciding }: { readonly left: PresentLease; readonly deciding: 'primary' | 'secondary' },
  { own, gone }: { readonly own: readonly LeaseRecord[]; readonly gone: LeaseRecord | undefined },
): Combination | undefined {
  const { record } = left
  const isOwned = record.holderIdentity !== '' && isOwnHolder(record, own)
  if (isOwned && gone?.holderIdentity === record.holderIdentity) return undefined
  const mayActStill = gone !== undefined && gone.holderIdentity !== '' && gone.holderIdentity !== record.holderIdentity
  if (!isOwned && !mayActStill) return decidedBy(deciding, left)
  return deciding === 'primary' ? disagreeing(record, gone) : disagreeing(gone, record)
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
 * The secondary is written last, so its record is in both. A holder that renews the primary alone, because it restarted without
 * the secondary, must be visible. A holder that writes both must not lose the lease because one write arrived first.
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
  const records = [first, second].filter((record) => record !== undefined)
  return {
    holderIdentity: UNKNOWN_LEADER,
    leaseDurationSeconds: Math.max(
      ...records.map(({ leaseDurationSeconds }) => leaseDurationSeconds ?? DEFAULT_DURATION_SECONDS),
    ),
    acquireTime: join('acquireTime'),
    renewTime: join('renewTime'),
    leaseTransitions: greatest(first?.leaseTransitions, second?.leaseTransitions),
    annotations: {},
  }
}

/** How long a record without a duration protects its holder. */
const DEFAULT_DURATION_SECONDS = 15

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
