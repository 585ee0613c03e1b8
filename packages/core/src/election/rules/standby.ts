import { ANNOTATION_PREFIX, type LeaseRecord } from '../../lock/lease-record.ts'
import type { ElectorConfig } from '../machine/config.ts'
import type { Memory } from '../machine/state.ts'
import { MAX_HOLD_BACK_MS } from './hold-back.ts'

/*
 * Standbys: the followers that try first when a lease becomes free, in their order. An annotation of the lease lists them. A follower
 * joins the list, and leaves it when it stops. A new leader removes itself and every standby that missed its turn.
 *
 * 1. Replicas of the newest revision come first, so that a rollout changes the leader once. The revision of the replica that started
 *    last is the newest, so rolling back is a rollout as well. The version of the lease that a replica saw first orders the starts.
 * 2. Within a revision, replicas in the zone of the present leader come first, as far as the replicas know their zones.
 * 3. Within a zone the name decides. A StatefulSet stops the replica with the highest ordinal first.
 *
 * A replica that is about to stop, or is not ready, is not on the list. The list only spreads the attempts. A wrong, stale or missing list costs milliseconds or one more change of leader, never safety.
 */
const STANDBY_ANNOTATION = `${ANNOTATION_PREFIX}standby`

/** Longer lists are not read. */
const MAX_NOTE_LENGTH = 4096

/** More would only delay those that are not on the list. */
const MAX_STANDBYS = 3

/** How long each standby is given before the next one of its revision tries, in milliseconds: a write, and the news of it. */
const SLOT_MS = 8

/** How long standbys of other revisions wait in addition: a replica of the newest may be busy, since it has just started. */
const REVISION_GAP_MS = 32

/** Writes that take longer than this show an API server, or a replica, that is busy. */
const BRISK_WRITE_MS = 7.5

/** The longest that any replica waits where writes are brisk. */
const MAX_WAIT_MS = MAX_STANDBYS * SLOT_MS + REVISION_GAP_MS + MAX_HOLD_BACK_MS

/** A follower as it describes itself on the list. */
export interface Standby {
  readonly identity: string
  /** What it runs, such as the hash of its Pod's template; undefined if it does not say. */
  readonly revision: string | undefined
  /** Where it runs; undefined if it does not say. */
  readonly zone?: string | undefined
  /** The first version of the lease that it saw. A replica that started later saw a greater one. */
  readonly since: bigint
}

/** This replica as it describes itself on the list. */
export function asStandby({ since = 0n }: Memory, { identity, revision, zone }: ElectorConfig): Standby {
  return { identity, revision, zone, since }
}

/**
 * The standbys of the present term, first the one that tries first. Other clients keep annotations of earlier terms, so a list counts
 * only for the number of transitions that it names. A release keeps that number, also one by client-go.
 */
export function readStandbys(record: LeaseRecord): readonly Standby[] {
  const { standbys } = readNote(record)
  if (!Array.isArray(standbys)) return []
  return standbys
    .filter(isStandby)
    .filter(({ identity }) => identity !== record.holderIdentity)
    .slice(0, MAX_STANDBYS)
    .map(({ identity, revision, zone, since }) => ({ identity, revision, zone, since: BigInt(since) }))
}

/** Whether the holder of this record keeps a list itself. A client that does not know the list keeps none. */
export function isKeptByHolder(record: LeaseRecord): boolean {
  return readNote(record).holder === record.holderIdentity
}

/** Whether the list of this record names the replica. */
export function isStandbyOf(record: LeaseRecord, identity: string): boolean {
  return readStandbys(record).some((standby) => standby.identity === identity)
}

/**
 * Whether this replica belongs on the list: it is not on it, and there is room or it displaces a replica of an older revision. A list that
 * names it with another revision, as an earlier process wrote it, is written again.
 */
export function hasRoomFor(record: LeaseRecord, me: Standby): boolean {
  const standbys = readStandbys(record)
  const listed = standbys.find(({ identity }) => identity === me.identity)
  if (listed !== undefined) return listed.revision !== me.revision
  if (standbys.length < MAX_STANDBYS) return true
  const newest = newestRevision([...standbys, me])
  return me.revision === newest && standbys.some(({ revision }) => revision !== newest)
}

/** Whether this replica would be the first of the newest revision on the list. */
export function isFirstOfNewest(record: LeaseRecord, me: Standby): boolean {
  const standbys = readStandbys(record)
  if (me.revision === undefined || standbys.some(({ revision }) => revision === me.revision)) return false
  return newestRevision([...standbys, me]) === me.revision
}

/** Whether the first standby runs a newer revision than this replica. */
export function hasNewerStandby(record: LeaseRecord, me: Standby): boolean {
  const [first] = readStandbys(record)
  if (first?.revision === undefined || me.revision === undefined || first.revision === me.revision) return false
  return first.since > me.since
}

/** The record with one more standby in its place, and nothing else changed. */
export function withStandby(record: LeaseRecord, me: Standby): LeaseRecord {
  const others = readStandbys(record).filter(({ identity }) => identity !== me.identity)
  const note = readNote(record)
  return withList(record, inOrder([...others, me], note.zone), note)
}

/** The record with one standby less, and nothing else changed. */
export function withoutStandby(record: LeaseRecord, leaving: string): LeaseRecord {
  return withList(
    record,
    readStandbys(record).filter(({ identity }) => identity !== leaving),
    readNote(record),
  )
}

/**
 * The list after this replica acquires the lease: the standbys whose turn had not come. A replica that is not on the list let all of
 * them try, except for a leader that has just released and waits until another replica leads. A replica that acquires its own lease
 * again, or a lease that was transferred to it, let nobody try.
 */
export function remainingStandbys(previous: LeaseRecord, identity: string): readonly Standby[] {
  const standbys = readStandbys(previous)
  const place = standbys.findIndex((standby) => standby.identity === identity)
  if (place !== -1 || previous.holderIdentity === identity) return standbys.slice(place + 1)
  return previous.holderIdentity === '' ? standbys.slice(-1) : []
}

/** The list after a standby has answered an offer to all: the standbys whose turn to answer had not come. */
export function standbysBehind(held: LeaseRecord, identity: string): readonly Standby[] {
  const standbys = readStandbys(held)
  const place = standbys.findIndex((standby) => standby.identity === identity)
  return place === -1 ? [] : standbys.slice(place + 1)
}

/**
 * The record whose holder keeps a list of the first three of these standbys. It states the `zone` of the holder, and `writeMs` if writes
 * were slow.
 */
export function withStandbys(
  record: LeaseRecord,
  standbys: readonly Standby[],
  { zone, writeMs = 0 }: { readonly zone?: string | undefined; readonly writeMs?: number } = {},
): LeaseRecord {
  const slow = writeMs > BRISK_WRITE_MS ? { writeMs: Math.round(writeMs) } : {}
  return withList(record, standbys, { holder: record.holderIdentity, zone, ...slow })
}

/** A replica that acquires a free lease, and what spreads the attempts. */
export interface Patience {
  /** How long a replica waits that is not on the list. */
  readonly holdBackMs: number
  readonly retryPeriodMs: number
  readonly revision?: string | undefined
}

/**
 * How long this replica lets others try before it acquires a free lease. Replicas that are not on the list spread over a retry period
 * at most, for any published write latency: a polling client would take no longer.
 */
export function waitForStandbysMs(
  free: LeaseRecord,
  identity: string,
  { holdBackMs, retryPeriodMs, revision }: Patience,
): number {
  const standbys = readStandbys(free)
  const place = standbys.findIndex((standby) => standby.identity === identity)
  const ofMine = place === -1 ? revision : standbys[place]?.revision
  const gapMs = standbys.length > 0 && standbys[0]?.revision !== ofMine ? REVISION_GAP_MS : 0
  if (place !== -1) return place * SLOT_MS + gapMs
  const waitMs = standbys.length * SLOT_MS + gapMs + holdBackMs
  return waitMs * Math.max(1, Math.min(slowness(free), retryPeriodMs / MAX_WAIT_MS))
}

/**
 * The order in which standbys try: the revisions from the newest on, within a revision those in the zone of the leader first, then the
 * names. Two revisions that started at the same version do not mix.
 */
function inOrder(standbys: readonly Standby[], zone?: unknown): readonly Standby[] {
  const isNear = (standby: Standby) => standby.zone !== undefined && standby.zone === zone
  const order = (a: Standby, b: Standby) =>
    Number(startOf(b.revision, standbys) - startOf(a.revision, standbys)) ||
    inOrderOf(a.revision ?? '', b.revision ?? '') ||
    Number(isNear(b)) - Number(isNear(a)) ||
    inOrderOf(a.identity, b.identity)
  return standbys.toSorted(order)
}

/** When the replica of a revision that started last did so. Replicas that do not say what they run come last. */
function startOf(revision: string | undefined, standbys: readonly Standby[]): bigint {
  if (revision === undefined) return -1n
  const starts = standbys.filter((standby) => standby.revision === revision).map(({ since }) => since)
  return starts.reduce((last, since) => (since > last ? since : last), 0n)
}

function inOrderOf(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

/** The revision of the replica that started last; undefined if none says what it runs. */
function newestRevision(standbys: readonly Standby[]): string | undefined {
  return inOrder(standbys)[0]?.revision
}

function slowness(record: LeaseRecord): number {
  const { writeMs } = readNote(record)
  return typeof writeMs === 'number' ? writeMs / BRISK_WRITE_MS : 1
}

interface Note {
  readonly standbys?: unknown
  /** The leader that keeps the list. */
  readonly holder?: unknown
  /** Where that leader runs. */
  readonly zone?: unknown
  readonly writeMs?: unknown
}

function withList(record: LeaseRecord, standbys: readonly Standby[], note: Note): LeaseRecord {
  const text = fittingNote(transitionsOf(record), standbys.slice(0, MAX_STANDBYS), note)
  return { ...record, annotations: { ...record.annotations, [STANDBY_ANNOTATION]: text } }
}

/** The note with as many of these standbys as others read. */
function fittingNote(of: number, standbys: readonly Standby[], note: Note): string {
  const { holder, zone, writeMs } = note
  const listed = standbys.map(({ since, ...standby }) => ({ ...standby, since: String(since) }))
  const text = JSON.stringify({ of, holder, zone, standbys: listed, writeMs })
  const isReadable = text.length <= MAX_NOTE_LENGTH || standbys.length === 0
  return isReadable ? text : fittingNote(of, standbys.slice(0, -1), note)
}

function readNote(record: LeaseRecord): Note {
  const text = record.annotations[STANDBY_ANNOTATION]
  if (text === undefined || text.length > MAX_NOTE_LENGTH) return {}
  try {
    const { of, ...note } = JSON.parse(text) as { readonly of?: unknown }
    return of === transitionsOf(record) ? note : {}
  } catch {
    return {}
  }
}

function transitionsOf({ leaseTransitions }: LeaseRecord): number {
  return leaseTransitions ?? 0
}

function isStandby(
  value: unknown,
): value is { readonly identity: string; readonly revision?: string; readonly zone?: string; readonly since: string } {
  if (typeof value !== 'object' || value === null) return false
  const { identity, revision, zone, since } = value as { readonly [key: string]: unknown }
  const isNamed = typeof identity === 'string' && identity !== ''
  const areTexts = [revision, zone].every((text) => text === undefined || typeof text === 'string')
  return isNamed && areTexts && isVersion(since)
}

function isVersion(value: unknown): boolean {
  return typeof value === 'string' && /^\d{1,19}$/.test(value)
}
