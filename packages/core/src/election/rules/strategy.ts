/** What a candidate says of itself besides its versions, such as `{ zone: 'a', freeMb: 512 }`. */
export type CandidateAttributes = Readonly<Record<string, string | number | boolean>>

/** A replica that leads, or that stands for election, as a strategy sees it. */
export interface CandidateFacts {
  /** Its identity in the lease. */
  readonly identity: string
  /** The version of its program; undefined if it does not say. */
  readonly binaryVersion: string | undefined
  /** The version whose behaviour its program shows; undefined if it does not say. */
  readonly emulationVersion: string | undefined
  /** What else it says of itself; empty if nothing. */
  readonly attributes: CandidateAttributes
  /** What it runs, such as the hash of its Pod's template; undefined if it does not say. */
  readonly revision: string | undefined
  /** Where it runs; undefined if it does not say. */
  readonly zone: string | undefined
  /** Whether its warm-ups are ready. */
  readonly isWarm: boolean
}

/** The strategies that need no `compare`. */
export const BUILT_IN_STRATEGIES = ['OldestEmulationVersion', 'NewestVersion'] as const

/** How the replicas of a lease choose who leads, and the versions of this replica. */
export interface Strategy {
  readonly name: string
  /** The version of `compare`: of two versions, the older counts until all candidates have the newer. */
  readonly version: number
  /** Negative if `a` should lead rather than `b`. Undefined for a built-in strategy. */
  readonly compare: ((a: CandidateFacts, b: CandidateFacts) => number) | undefined
  readonly binaryVersion: string | undefined
  readonly emulationVersion: string | undefined
}

/** Longer attributes would leave no room for other candidates. */
const MAX_ATTRIBUTES_LENGTH = 512

/** Whether these are attributes: a flat record of texts, finite numbers and booleans, at most 512 characters as JSON. */
export function areAttributes(value: unknown): value is CandidateAttributes {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  return Object.values(value).every(isAttribute) && JSON.stringify(value).length <= MAX_ATTRIBUTES_LENGTH
}

function isAttribute(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)
}
