import { ANNOTATION_PREFIX, type LeaseRecord } from '../../lock/lease-record.ts'
import { MAX_HOLD_BACK_MS } from './hold-back.ts'

/*
 * Standbys: who should try first when a lease is released. A list in an annotation of the lease. A leader that steps down and
 * follows again puts itself at its end; so does a follower while there is room, with a write of its own. The new leader removes
 * itself and every standby that missed its turn.
 *
 * Where writes take long, so does the news of them: a leader that releases says how long its own took, and all are spread by as much more.
 *
 * It only spreads the attempts. A wrong, stale or missing list costs milliseconds, never safety.
 */
const STANDBY_ANNOTATION = `${ANNOTATION_PREFIX}standby`

/** More would only delay those that are not on the list. */
const MAX_STANDBYS = 3

/** How long each standby is given before the next one tries, in milliseconds: a write, and the news of it. */
const SLOT_MS = 25

/** Writes that take longer than this show an API server, or a replica, that is busy. */
const BRISK_WRITE_MS = 7.5

/** The longest that anybody waits where writes are brisk. */
const MAX_WAIT_MS = MAX_STANDBYS * SLOT_MS + MAX_HOLD_BACK_MS

/**
 * The standbys that the writer of this record left. Other clients keep annotations of earlier terms, so that one counts only
 * together with the acquire time it was written with.
 */
export function readStandbys(record: LeaseRecord): readonly string[] {
  const { identities } = readNote(record)
  if (!Array.isArray(identities)) return []
  return identities.filter((identity) => typeof identity === 'string').slice(0, MAX_STANDBYS)
}

/** Whether the writer of this record keeps a list that this replica is not on, with room for it. */
export function hasRoomFor(record: LeaseRecord, identity: string): boolean {
  const { identities } = readNote(record)
  return Array.isArray(identities) && identities.length < MAX_STANDBYS && !identities.includes(identity)
}

/** The record with one more standby, and nothing else changed. */
export function withStandby(record: LeaseRecord, identity: string): LeaseRecord {
  const note = { of: record.acquireTime, ...readNote(record), identities: [...readStandbys(record), identity] }
  return { ...record, annotations: { ...record.annotations, [STANDBY_ANNOTATION]: JSON.stringify(note) } }
}

/**
 * The list after this replica acquires the lease: the standbys whose turn had not come. A replica that is not on the list let all of
 * them try, except for a leader that has just released and waits until another replica leads. A replica that acquires its own lease
 * again, or a lease that was transferred to it, let nobody try.
 */
export function remainingStandbys(previous: LeaseRecord, identity: string): readonly string[] {
  const standbys = readStandbys(previous)
  const place = standbys.indexOf(identity)
  if (place !== -1 || previous.holderIdentity === identity) return standbys.slice(place + 1)
  return previous.holderIdentity === '' ? standbys.slice(-1) : []
}

/** The record with these standbys, of whom the first few count, and how long a write took where that was long. */
export function withStandbys(record: LeaseRecord, identities: readonly string[], writeMs = 0): LeaseRecord {
  const slow = writeMs > BRISK_WRITE_MS ? { writeMs: Math.round(writeMs) } : {}
  const note = { of: record.acquireTime, identities: identities.slice(0, MAX_STANDBYS), ...slow }
  return { ...record, annotations: { ...record.annotations, [STANDBY_ANNOTATION]: JSON.stringify(note) } }
}

/**
 * How long this replica lets others try before it acquires a free lease. `holdBackMs` is for a replica that is not on the list. Attempts
 * are spread over a retry period at most, for any published write latency: a polling client would take no longer.
 */
export function waitForStandbysMs(
  free: LeaseRecord,
  identity: string,
  { holdBackMs, retryPeriodMs }: { readonly holdBackMs: number; readonly retryPeriodMs: number },
): number {
  const standbys = readStandbys(free)
  const place = standbys.indexOf(identity)
  const waitMs = place === -1 ? standbys.length * SLOT_MS + holdBackMs : place * SLOT_MS
  return waitMs * Math.max(1, Math.min(slowness(free), retryPeriodMs / MAX_WAIT_MS))
}

function slowness(record: LeaseRecord): number {
  const { writeMs } = readNote(record)
  return typeof writeMs === 'number' ? writeMs / BRISK_WRITE_MS : 1
}

function readNote(record: LeaseRecord): { readonly identities?: unknown; readonly writeMs?: unknown } {
  const text = record.annotations[STANDBY_ANNOTATION]
  if (text === undefined) return {}
  try {
    const { of, ...note } = JSON.parse(text) as { readonly of?: unknown }
    return of === record.acquireTime ? note : {}
  } catch {
    return {}
  }
}
