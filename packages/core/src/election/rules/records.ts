import { type LeaseRecord, formatMicroTime, withLeastEpoch } from '../../lock/lease-record.ts'
import { type PresentLease, countedEpochOf, epochOf } from '../../lock/lock.ts'
import type { ElectorConfig } from '../machine/config.ts'
import { type Standby, readStandbys, remainingStandbys, withStandbys } from './standby.ts'
import {
  type Answer,
  TRANSFER_DURATION_MS,
  readTransferNonce,
  withProcessRef,
  withTransferNonce,
  withoutNotes,
} from './transfer-notes.ts'

/** The record that takes a free lease. `previous` is the stored record, if there is one. */
export function acquireRecord(options: {
  readonly config: ElectorConfig
  readonly previous: LeaseRecord | undefined
  readonly wallTime: number
}): LeaseRecord {
  const { config, previous } = options
  const { identity } = config
  const time = distinctMicroTime(options.wallTime, previous?.renewTime)
  const transitions = storableTransitions(previous?.leaseTransitions ?? 0)
  const record: LeaseRecord = {
    holderIdentity: identity,
    leaseDurationSeconds: config.timing.leaseDurationMs / 1000,
    acquireTime: time,
    renewTime: time,
    leaseTransitions:
      previous === undefined || previous.holderIdentity === identity
        ? transitions
        : storableTransitions(transitions + 1),
    annotations: {},
  }
  const others = previous === undefined ? [] : remainingStandbys(previous, identity)
  return withProcessRef(withStandbys(record, others), config.processRef)
}

/** Kubernetes takes 32-bit numbers from 0 on. A counter that somebody set beyond that must not keep everybody from leading. */
function storableTransitions(count: number): number {
  return Math.min(Math.max(count, 0), 2 ** 31 - 1)
}

/** The record that prolongs a lease. It also restores a duration that somebody edited, and ends what a transfer left. */
export function renewRecord(held: LeaseRecord, { timing, processRef }: ElectorConfig, wallTime: number): LeaseRecord {
  const record = {
    ...withoutNotes(held),
    leaseDurationSeconds: timing.leaseDurationMs / 1000,
    renewTime: distinctMicroTime(wallTime, held.renewTime),
  }
  return withProcessRef(record, processRef)
}

/**
 * The record that frees a lease, as client-go writes it: no holder, one second, times of now, transitions kept. `returning` is
 * this replica where it follows again and may be asked to lead again, after the others; `writeMs` its recent write latency.
 */
export function releaseRecord(
  held: LeaseRecord,
  {
    wallTime,
    returning,
    writeMs,
  }: { readonly wallTime: number; readonly returning: Standby | undefined; readonly writeMs: number },
): LeaseRecord {
  const time = distinctMicroTime(wallTime, held.renewTime)
  const times = { acquireTime: time, renewTime: time }
  const record = { ...withoutNotes(held), holderIdentity: '', leaseDurationSeconds: 1, ...times }
  return withStandbys(record, [...readStandbys(held), ...(returning === undefined ? [] : [returning])], writeMs)
}

/** The record that hands a lease to the replica that gave this answer: a change of holder that others take for an acquisition. */
export function transferRecord(
  held: LeaseRecord,
  { identity, nonce }: Answer,
  { wallTime, returning }: { readonly wallTime: number; readonly returning: Standby | undefined },
): LeaseRecord {
  const time = distinctMicroTime(wallTime, held.renewTime)
  const record: LeaseRecord = {
    ...withoutNotes(held),
    holderIdentity: identity,
    leaseDurationSeconds: TRANSFER_DURATION_MS / 1000,
    acquireTime: time,
    renewTime: time,
    leaseTransitions: storableTransitions((held.leaseTransitions ?? 0) + 1),
  }
  const standbys = readStandbys(held).filter((standby) => standby.identity !== identity)
  return withTransferNonce(withStandbys(record, [...standbys, ...(returning === undefined ? [] : [returning])]), nonce)
}

/**
 * The record that begins a term, made to do so with an epoch above every one that this replica knows of. The version of the write
 * alone sees to that unless the store has gone back, or is another one.
 */
export function withGreaterEpoch(record: LeaseRecord, base: PresentLease | undefined, known: bigint): LeaseRecord {
  const highest = base === undefined || known > epochOf(base) ? known : epochOf(base)
  const isCounted = highest <= (base === undefined ? 0n : countedEpochOf(base))
  return withLeastEpoch(record, isCounted ? 0n : highest + 1n)
}

/** How long others leave this record alone, in milliseconds; 0 where it states nothing that they can use. */
export function statedMs({ leaseDurationSeconds: seconds }: LeaseRecord): number {
  return seconds !== undefined && seconds > 0 ? seconds * 1000 : 0
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

/** Whether this process wrote a record, possibly with its duration or transitions edited since. */
export function isWrittenAs(record: LeaseRecord, written: LeaseRecord): boolean {
  return (
    record.holderIdentity === written.holderIdentity &&
    record.acquireTime === written.acquireTime &&
    record.renewTime === written.renewTime
  )
}

/**
 * Whether clients that compare times by the whole second see `next` as a change of `previous`. A restored duration does not count:
 * who missed the edit sees no change. That of a transfer does: who missed the transfer sees another holder.
 */
export function isRenewalInWholeSeconds(previous: LeaseRecord, next: LeaseRecord): boolean {
  return readTransferNonce(previous) !== undefined || !isSameRecord(inWholeSeconds(previous), inWholeSeconds(next))
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
