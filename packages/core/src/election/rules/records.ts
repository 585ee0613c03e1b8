import { type LeaseRecord, formatMicroTime, withLeastEpoch } from '../../lock/lease-record.ts'
import { type PresentLease, countedEpochOf, epochOf } from '../../lock/lock.ts'
import type { ElectorConfig } from '../machine/config.ts'
import { type Bequest, withBequest, withLegacy } from './bequest.ts'
import { type Standby, readStandbys } from './standby-note.ts'
import { withRequestAnswerOf, withRequestAnswered } from './step-down-request.ts'
import { asLeader, leaderNoteOf, remainingStandbys, standbysBehind, withListKept, withStandbys } from './standby.ts'
import {
  type Answer,
  TRANSFER_DURATION_MS,
  readOffer,
  readTransferNonce,
  withProcessRef,
  withTransferNonce,
  withoutNotes,
} from './transfer-notes.ts'

/** The record that acquires a free lease. `previous` is the stored record, if there is one. */
export function acquireRecord(options: {
  readonly config: ElectorConfig
  readonly previous: LeaseRecord | undefined
  readonly wallTime: number
}): LeaseRecord {
  const { config, previous } = options
  const { identity } = config
  const time = newTime(options.wallTime, previous)
  const transitions = storableTransitions(previous?.leaseTransitions ?? 0)
  const record: LeaseRecord = {
    holderIdentity: identity,
    leaseDurationSeconds: config.timing.leaseDurationMs / 1000,
    acquireTime: time,
    renewTime: time,
    leaseTransitions: isNewTerm(previous, identity) ? storableTransitions(transitions + 1) : transitions,
    annotations: {},
  }
  const others = previous === undefined ? [] : remainingStandbys(previous, identity)
  const listed = withProcessRef(
    withStandbys(record, others, { zone: config.zone, leader: asLeader(config) }),
    config.processRef,
  )
  return previous === undefined ? listed : withRequestAnswerOf(withLegacy(listed, previous), previous)
}

/** Whether an acquisition changes the holder. A coordinator that names a holder removes the acquire time and counts no transition. */
function isNewTerm(previous: LeaseRecord | undefined, identity: string): boolean {
  if (previous === undefined) return false
  return previous.holderIdentity !== identity || previous.acquireTime === undefined
}

/** The record of the next holder does not repeat what was asked of this one. */
function withoutPreference(held: LeaseRecord): LeaseRecord {
  const { preferredHolder: _, ...record } = withoutNotes(held)
  return record
}

/** Kubernetes accepts 32-bit numbers from 0. A counter that was set out of this range must not keep all replicas from leading. */
function storableTransitions(count: number): number {
  return Math.min(Math.max(count, 0), 2 ** 31 - 1)
}

/**
 * The record that renews a lease, with the notes of `noted`. It also restores an edited duration, the full duration after a transfer, and the
 * list of standbys, which does not count after an edit of the transitions. A lease that is held for life and needs no change stays as it is.
 * Otherwise its renew time changes, so that a view of the lease shows whether this renewal has happened.
 */
export function renewRecord(
  held: LeaseRecord,
  config: ElectorConfig,
  { wallTime, noted = (record) => record }: RenewalOptions,
): LeaseRecord {
  const { timing, processRef, preferred } = config
  const isDead = preferred?.isAlive === false && preferred.identity === held.preferredHolder
  const record = {
    ...withoutNotes(held),
    // A preference for a candidate that is gone would stay forever.
    ...(isDead && { preferredHolder: undefined }),
    leaseDurationSeconds: timing.leaseDurationMs / 1000,
    renewTime: newTime(wallTime, held),
  }
  const renewed = noted(withProcessRef(withListKept(record, config), processRef))
  return config.heldForLife === true && isRenewalOnly(renewed, held) ? held : renewed
}

/** What a renewal says besides. */
interface RenewalOptions {
  readonly wallTime: number
  /** Adds notes to the record. @default it stays as it is */
  readonly noted?: (renewal: LeaseRecord) => LeaseRecord
}

/** Whether a renewal changes nothing but its time. */
function isRenewalOnly(renewed: LeaseRecord, held: LeaseRecord): boolean {
  const keys = Object.keys(renewed.annotations)
  return (
    isSameRecord({ ...renewed, renewTime: held.renewTime }, held) &&
    keys.length === Object.keys(held.annotations).length &&
    keys.every((key) => renewed.annotations[key] === held.annotations[key])
  )
}

/** What the record that ends a term says besides. */
interface TermRecordOptions {
  readonly wallTime: number
  readonly returning: Standby | undefined
  readonly bequest?: Bequest | undefined
}

/**
 * The record that releases a lease, as client-go writes it: no holder, a duration of one second, the current times, the same transitions.
 * `returning` is this replica if it follows again; it becomes the last standby. `writeMs` is its recent write latency. `bequest` is what
 * its term leaves, if one began.
 */
export function releaseRecord(
  held: LeaseRecord,
  { wallTime, returning, writeMs, bequest }: TermRecordOptions & { readonly writeMs: number },
): LeaseRecord {
  const time = newTime(wallTime, held)
  const times = { acquireTime: time, renewTime: time }
  const record = { ...withoutPreference(held), holderIdentity: '', leaseDurationSeconds: 1, ...times }
  const standbys = [...readStandbys(held), ...(returning === undefined ? [] : [returning])]
  const answered = withRequestAnswered(record, held, 'released')
  return withBequest(withStandbys(answered, standbys, { writeMs }), held, bequest)
}

/** Whether a record is as a release writes it. An edit that only clears the holder keeps the duration. */
export function isRelease({ holderIdentity, leaseDurationSeconds, acquireTime, renewTime }: LeaseRecord): boolean {
  return holderIdentity === '' && leaseDurationSeconds === 1 && acquireTime === renewTime
}

/** The record that transfers a lease to the replica of this answer. To others it looks like an acquisition. */
export function transferRecord(
  held: LeaseRecord,
  { identity, nonce }: Answer,
  { wallTime, returning, bequest }: TermRecordOptions,
): LeaseRecord {
  const time = newTime(wallTime, held)
  const record: LeaseRecord = {
    ...withoutPreference(held),
    holderIdentity: identity,
    leaseDurationSeconds: TRANSFER_DURATION_MS / 1000,
    acquireTime: time,
    renewTime: time,
    leaseTransitions: storableTransitions((held.leaseTransitions ?? 0) + 1),
  }
  const standbys =
    readOffer(held)?.to === undefined
      ? standbysBehind(held, identity)
      : readStandbys(held).filter((standby) => standby.identity !== identity)
  const successor = readStandbys(held).find((standby) => standby.identity === identity)
  const list = withStandbys(record, [...standbys, ...(returning === undefined ? [] : [returning])], {
    zone: successor?.zone,
    leader: successor && leaderNoteOf(successor),
  })
  const answered = withRequestAnswered(list, held, 'transferred')
  return withBequest(withTransferNonce(answered, nonce), held, bequest)
}

/**
 * The record of a new term, with an epoch above all that this replica knows. The version of the write already ensures this, unless the
 * store was restored or replaced.
 */
export function withGreaterEpoch(record: LeaseRecord, base: PresentLease | undefined, known: bigint): LeaseRecord {
  const highest = base === undefined || known > epochOf(base) ? known : epochOf(base)
  const isCounted = highest <= (base === undefined ? 0n : countedEpochOf(base))
  return withLeastEpoch(record, isCounted ? 0n : highest + 1n)
}

/** The candidate to which this holder hands the lease over, by the word of a coordinator; undefined if none is known to live. */
export function successorOf(
  { preferredHolder }: LeaseRecord,
  { coordination, preferred, identity }: ElectorConfig,
): string | undefined {
  if (coordination !== 'server' || preferred?.isAlive !== true || preferredHolder === identity) return undefined
  return preferred.identity === preferredHolder ? preferredHolder : undefined
}

/** The stated duration of a record, in milliseconds; 0 if it states none that others can use. */
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
 * Whether clients that compare whole seconds see `next` as a change of `previous`. A restored duration does not count: a client that
 * missed the edit sees no change. The duration after a transfer counts: a client that missed the transfer sees another holder.
 */
export function isRenewalInWholeSeconds(previous: LeaseRecord, next: LeaseRecord): boolean {
  return readTransferNonce(previous) !== undefined || !isSameRecord(inWholeSeconds(previous), inWholeSeconds(next))
}

function inWholeSeconds(record: LeaseRecord): LeaseRecord {
  const cut = (time: string | undefined) => time?.slice(0, '2006-01-02T15:04:05'.length)
  const times = { acquireTime: cut(record.acquireTime), renewTime: cut(record.renewTime) }
  return { ...record, ...times, leaseDurationSeconds: undefined }
}

/**
 * A time that the record before does not have: the time of the clock, or up to two microseconds later. So two writes within one millisecond
 * differ, a renewal never looks like an acquisition, and a new term or a release never has the acquire time of the term before.
 */
function newTime(wallTime: number, before: LeaseRecord | undefined): string {
  const time = formatMicroTime(wallTime)
  const isUsed = (one: string) => one === before?.renewTime || one === before?.acquireTime
  const later = [1, 2].map((microseconds) => time.replace('000Z', `00${microseconds}Z`))
  return [time, ...later].find((one) => !isUsed(one)) ?? time
}
