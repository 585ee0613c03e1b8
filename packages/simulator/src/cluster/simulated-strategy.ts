import type { CandidateFacts, LeaseOptions } from '@tenure/core'

/**
 * How the replicas of a run choose who leads.
 *
 * - `OldestEmulationVersion`, `NewestVersion`: as Tenure has them. Replicas run versions that differ.
 * - `disagreeing`: half of the replicas compare the other way round.
 * - `newer-version`: half of the replicas know only a newer version of the comparison, which is the other way round.
 * - `contradictory`: the comparison goes in a circle.
 */
export type SimulatedStrategy = (typeof SIMULATED_STRATEGIES)[number]

/** The values of {@link SimulatedStrategy}. */
export const SIMULATED_STRATEGIES = [
  'OldestEmulationVersion',
  'NewestVersion',
  'disagreeing',
  'newer-version',
  'contradictory',
] as const

/** Without rollouts, replicas run this many versions, so that some are equal. */
const VERSIONS = 3

/** The options of the lease of one replica. `minor` is the version that it runs. */
export function strategyOptions(strategy: SimulatedStrategy, minor: number, place: number): Partial<LeaseOptions> {
  const binaryVersion = `1.${minor}.0`
  if (strategy === 'OldestEmulationVersion' || strategy === 'NewestVersion') return { strategy, binaryVersion }
  const mine = { strategy: `example.com/${strategy}`, binaryVersion, attributes: { minor } }
  const isOdd = place % 2 === 1
  switch (strategy) {
    case 'disagreeing':
      return { ...mine, compare: isOdd ? later : earlier }
    case 'newer-version':
      return { ...mine, compare: isOdd ? later : earlier, strategyVersion: isOdd ? 2 : 1 }
    case 'contradictory':
      return { ...mine, compare: () => -1 }
    default:
      return strategy satisfies never
  }
}

/** The minor version that a replica runs: that of its revision, or of its place. */
export function minorOf(revision: string | undefined, place: number): number {
  return revision === undefined ? place % VERSIONS : Number(revision.slice(1))
}

/** How good a replica is, where all agree; undefined otherwise. */
export function gradeOf(strategy: SimulatedStrategy | undefined, minor: number): number | undefined {
  if (strategy === 'OldestEmulationVersion') return -minor
  if (strategy === 'NewestVersion') return minor
  return strategy === 'contradictory' ? 0 : undefined
}

function earlier(a: CandidateFacts, b: CandidateFacts): number {
  return minorIn(a) - minorIn(b)
}

function later(a: CandidateFacts, b: CandidateFacts): number {
  return minorIn(b) - minorIn(a)
}

function minorIn({ attributes }: CandidateFacts): number {
  return Number(attributes['minor'] ?? 0)
}
