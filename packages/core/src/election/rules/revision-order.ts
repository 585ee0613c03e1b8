import type { Standby } from './standby-note.ts'

/** Which of two replicas comes first: negative, positive, or 0 if neither. */
export type Comparison = (a: Standby, b: Standby) => number

/**
 * The order in which standbys try: the revisions from the newest on, within a revision those in the zone of the leader first, then the
 * names, or what `last` says. A lease that is held for life keeps its version for long, so replicas of two revisions often start at the same
 * one. The revision whose first replica started later then counts as newer, and two revisions never mix.
 */
export function byRevision(standbys: readonly Standby[], zone?: unknown, last: Comparison = byName): Comparison {
  const isNear = (standby: Standby) => standby.zone !== undefined && standby.zone === zone
  return (a, b) =>
    Number(startOf(b.revision, standbys) - startOf(a.revision, standbys)) ||
    Number(firstStartOf(b.revision, standbys) - firstStartOf(a.revision, standbys)) ||
    inOrderOf(a.revision ?? '', b.revision ?? '') ||
    Number(isNear(b)) - Number(isNear(a)) ||
    last(a, b)
}

/** The replica that started earlier first, so that equal replicas do not displace each other. */
export function byAge(a: Standby, b: Standby): number {
  return Number(a.since - b.since) || byName(a, b)
}

function byName(a: Standby, b: Standby): number {
  return inOrderOf(a.identity, b.identity)
}

/** When the replica of a revision that started last did so. Replicas that do not say what they run come last. */
function startOf(revision: string | undefined, standbys: readonly Standby[]): bigint {
  if (revision === undefined) return -1n
  return startsOf(revision, standbys).reduce((last, since) => (since > last ? since : last), 0n)
}

/** When the first replica of a revision that stands did so. */
function firstStartOf(revision: string | undefined, standbys: readonly Standby[]): bigint {
  const [start = 0n, ...others] = startsOf(revision, standbys)
  return others.reduce((first, since) => (since < first ? since : first), start)
}

function startsOf(revision: string | undefined, standbys: readonly Standby[]): readonly bigint[] {
  return standbys.filter((standby) => standby.revision === revision).map(({ since }) => since)
}

function inOrderOf(a: string, b: string): number {
  return Number(a > b) - Number(a < b)
}

/** The revision of the replica that started last; undefined if none says what it runs. */
export function newestRevision(standbys: readonly Standby[]): string | undefined {
  return standbys.toSorted(byRevision(standbys))[0]?.revision
}
