import { formatMicroTime, type LeaseRecord } from '../../lock/lease-record.ts'
import type { ResolvedTimingOptions } from '../timing-options.ts'
import { readStandbys, withStandbys } from './standby.ts'

/** The record that takes a free lease. `previous` is the stored record, if there is one; its other standbys stay standbys. */
export function acquireRecord(options: {
  readonly identity: string
  readonly timing: ResolvedTimingOptions
  readonly previous: LeaseRecord | undefined
  readonly wallTime: number
}): LeaseRecord {
  const { identity, previous } = options
  const time = distinctMicroTime(options.wallTime, previous?.renewTime)
  const transitions = previous?.leaseTransitions ?? 0
  const record: LeaseRecord = {
    holderIdentity: identity,
    leaseDurationSeconds: options.timing.leaseDurationMs / 1000,
    acquireTime: time,
    renewTime: time,
    leaseTransitions: previous === undefined || previous.holderIdentity === identity ? transitions : transitions + 1,
    annotations: {},
  }
  const others = previous === undefined ? [] : readStandbys(previous).filter((standby) => standby !== identity)
  return withStandbys(record, others)
}

/** The record that prolongs a lease. It also restores a duration that somebody edited. */
export function renewRecord(held: LeaseRecord, timing: ResolvedTimingOptions, wallTime: number): LeaseRecord {
  return {
    ...held,
    leaseDurationSeconds: timing.leaseDurationMs / 1000,
    renewTime: distinctMicroTime(wallTime, held.renewTime),
  }
}

/**
 * The record that frees a lease, as client-go writes it: no holder, one second, times of now, transitions kept. `returning` is
 * this replica where it follows again and may be asked to lead again, after the others.
 */
export function releaseRecord(held: LeaseRecord, wallTime: number, returning: string | undefined): LeaseRecord {
  const time = distinctMicroTime(wallTime, held.renewTime)
  const record = { ...held, holderIdentity: '', leaseDurationSeconds: 1, acquireTime: time, renewTime: time }
  return withStandbys(record, [...readStandbys(held), ...(returning === undefined ? [] : [returning])])
}

/** Whether two records agree in every field that electors compare; annotations do not count. */
export function isSameRecord(a: LeaseRecord, b: LeaseRecord): boolean {
  return (
    a.holderIdentity === b.holderIdentity &&
    a.leaseDurationSeconds === b.leaseDurationSeconds &&
    a.acquireTime === b.acquireTime &&
    a.renewTime === b.renewTime &&
    a.leaseTransitions === b.leaseTransitions
  )
}

/** Whether a record is one that this process wrote, possibly with its duration or transitions edited since. */
export function isWrittenAs(record: LeaseRecord, written: LeaseRecord): boolean {
  return (
    record.holderIdentity === written.holderIdentity &&
    record.acquireTime === written.acquireTime &&
    record.renewTime === written.renewTime
  )
}

/**
 * Whether clients that compare times by the whole second see `next` as a change of `previous`. A restored duration does not count:
 * who missed the edit sees no change.
 */
export function isRenewalInWholeSeconds(previous: LeaseRecord, next: LeaseRecord): boolean {
  return !isSameRecord(inWholeSeconds(previous), inWholeSeconds(next))
}

function inWholeSeconds(record: LeaseRecord): LeaseRecord {
  const cut = (time: string | undefined) => time?.slice(0, '2006-01-02T15:04:05'.length)
  const times = { acquireTime: cut(record.acquireTime), renewTime: cut(record.renewTime) }
  return { ...record, ...times, leaseDurationSeconds: undefined }
}

/** A time that differs from `previous`, so that two writes within one millisecond can be told apart. */
function distinctMicroTime(wallTime: number, previous: string | undefined): string {
  const time = formatMicroTime(wallTime)
  return time === previous ? time.replace(/000Z$/, '001Z') : time
}
