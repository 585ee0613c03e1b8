import { type Comparison, byAge, byRevision } from './revision-order.ts'
import { compareVersions } from './semver.ts'
import type { Standby } from './standby-note.ts'
import type { CandidateFacts, Strategy } from './strategy.ts'

/*
 * Who is the best of the replicas that a record shows: the leader, the standbys, and the replica that asks.
 *
 * 1. One order decides everything: which standby tries first, who is on the list, and whether a leader hands over. Warm replicas come
 *    before others, then the strategy decides, then the revision, the zone, the start and the name.
 * 2. Only warmth and the strategy make a replica better than another one. Equal replicas never take the lease from each other.
 * 3. The strategy decides only if all replicas name it, and if its comparison does not contradict itself. Otherwise the revision decides.
 * 4. Of two versions of a strategy the older counts. A replica that knows only a newer one leaves the order as it is.
 */

/** How the replicas of a record are ranked. */
export type Ranking =
  | { readonly kind: 'strategy'; readonly isBetter: (a: Standby, b: Standby) => boolean }
  /** Replicas of an older version of the strategy decide. `older` is one of them. */
  | { readonly kind: 'older-version'; readonly older: Standby }
  /** A replica follows another strategy, or none. */
  | { readonly kind: 'mismatch'; readonly other: Standby }
  /** The comparison threw, returned no number, or contradicts itself. */
  | { readonly kind: 'contradiction'; readonly problem: string }
  /** This replica has no strategy. */
  | { readonly kind: 'revision' }

/** Ranks these replicas, which have different identities. */
export function rank(candidates: readonly Standby[], strategy: Strategy | undefined): Ranking {
  if (strategy === undefined) return { kind: 'revision' }
  const other = candidates.find((candidate) => candidate.strategy !== strategy.name)
  if (other !== undefined) return { kind: 'mismatch', other }
  const older = candidates.find(({ strategyVersion = 1 }) => strategyVersion < strategy.version)
  if (older !== undefined) return { kind: 'older-version', older }
  try {
    const isPreferred = preferenceAmong(candidates, comparisonOf(strategy))
    return { kind: 'strategy', isBetter: (a, b) => (isWarm(a) === isWarm(b) ? isPreferred(a, b) : isWarm(a)) }
  } catch (error) {
    return { kind: 'contradiction', problem: error instanceof Contradiction ? error.message : 'it threw' }
  }
}

/** The list in the order of its ranking: repeatedly the first by the revision of those than which none is better. */
export function sortByRank(standbys: readonly Standby[], ranking: Ranking, zone?: unknown): readonly Standby[] {
  if (ranking.kind === 'older-version') return standbys
  if (ranking.kind !== 'strategy') {
    const inOrder = byRevision(standbys, zone)
    return standbys.toSorted((a, b) => Number(isWarm(b)) - Number(isWarm(a)) || inOrder(a, b))
  }
  const { isBetter } = ranking
  const rest = standbys.toSorted(byRevision(standbys, zone, byAge))
  const sorted: Standby[] = []
  for (;;) {
    const best = rest.findIndex((standby) => !rest.some((other) => isBetter(other, standby)))
    if (best === -1) return [...sorted, ...rest]
    sorted.push(...rest.splice(best, 1))
  }
}

/** Whether the warm-ups of a replica are ready and it is not about to be stopped, as far as it says. */
export function isWarm({ warm }: Pick<Standby, 'warm'>): boolean {
  return warm !== false
}

class Contradiction extends Error {}

/** The comparison of a strategy, as each pair of these replicas answers it. @throws Contradiction if it is no order. */
function preferenceAmong(candidates: readonly Standby[], compare: Comparison): (a: Standby, b: Standby) => boolean {
  const worse = new Map(
    candidates.map((a) => [
      a.identity,
      new Set(candidates.filter((b) => a !== b && isBefore(a, b, compare)).map(({ identity }) => identity)),
    ]),
  )
  const isPreferred = (a: Standby, b: Standby): boolean => worse.get(a.identity)?.has(b.identity) === true
  const rest = [...candidates]
  while (rest.length > 0) {
    const best = rest.findIndex((candidate) => !rest.some((other) => isPreferred(other, candidate)))
    if (best === -1)
      throw new Contradiction(`it prefers ${rest.map(({ identity }) => identity).join(', ')} in a circle`)
    rest.splice(best, 1)
  }
  return isPreferred
}

function isBefore(a: Standby, b: Standby, compare: Comparison): boolean {
  const order = compare(a, b)
  if (typeof order !== 'number' || Number.isNaN(order)) throw new Contradiction('it returned no number')
  if (Math.sign(order) + Math.sign(compare(b, a)) === 0) return order < 0
  throw new Contradiction(`its answers for ${a.identity} and ${b.identity} depend on their order`)
}

function comparisonOf({ name, compare }: Strategy): Comparison {
  if (compare !== undefined) return (a, b) => compare(factsOf(a), factsOf(b))
  if (name === 'NewestVersion') {
    return (a, b) => byVersion(b.binaryVersion, a.binaryVersion) || byVersion(b.emulationVersion, a.emulationVersion)
  }
  return (a, b) => byVersion(a.emulationVersion, b.emulationVersion) || byVersion(a.binaryVersion, b.binaryVersion)
}

/** A built-in strategy requires versions. A version that is missing was edited away, and decides nothing. */
function byVersion(a: string | undefined, b: string | undefined): number {
  return a === undefined || b === undefined ? 0 : compareVersions(a, b)
}

/** A replica as a comparison sees it. */
function factsOf(standby: Standby): CandidateFacts {
  const { identity, revision, zone, binaryVersion, emulationVersion, attributes = {} } = standby
  const facts = { identity, binaryVersion, emulationVersion, revision, zone, isWarm: isWarm(standby) }
  return Object.freeze({ ...facts, attributes: Object.freeze({ ...attributes }) })
}
