import { ANNOTATION_PREFIX, type LeaseRecord } from '../../lock/lease-record.ts'

/*
 * Standbys: who should try first when a lease is released. A list in an annotation of the lease, kept without a single further
 * write: a leader that steps down and follows again puts itself at its end, whoever takes the lease is taken off it.
 *
 * It only spreads the attempts. A wrong, stale or missing list costs milliseconds, never safety.
 */
const STANDBY_ANNOTATION = `${ANNOTATION_PREFIX}standby`

/** More would only delay those that are not on the list. */
const MAX_STANDBYS = 3

/** How long each standby is given before the next one tries, in milliseconds: a write, and the news of it. */
const SLOT_MS = 25

/**
 * The standbys that the writer of this record left. Other clients keep annotations of earlier terms, so that one counts only
 * together with the acquire time it was written with.
 */
export function readStandbys(record: LeaseRecord): readonly string[] {
  const text = record.annotations[STANDBY_ANNOTATION]
  if (text === undefined) return []
  try {
    const { of, identities } = JSON.parse(text) as { readonly of?: unknown; readonly identities?: unknown }
    if (of !== record.acquireTime || !Array.isArray(identities)) return []
    return identities.filter((identity) => typeof identity === 'string').slice(0, MAX_STANDBYS)
  } catch {
    return []
  }
}

/** The record with these standbys, of whom the first few count. */
export function withStandbys(record: LeaseRecord, identities: readonly string[]): LeaseRecord {
  const value = { of: record.acquireTime, identities: identities.slice(0, MAX_STANDBYS) }
  return { ...record, annotations: { ...record.annotations, [STANDBY_ANNOTATION]: JSON.stringify(value) } }
}

/** How long this replica lets others try before it takes a free lease. `holdBackMs` is for one that is not on the list. */
export function waitForStandbysMs(free: LeaseRecord, identity: string, holdBackMs: number): number {
  const standbys = readStandbys(free)
  const place = standbys.indexOf(identity)
  return place === -1 ? standbys.length * SLOT_MS + holdBackMs : place * SLOT_MS
}
