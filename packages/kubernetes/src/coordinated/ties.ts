import type { StoredCandidate } from './candidate-object.ts'

/**
 * The equal candidates of one second, one of which has to be created again. The one with the greater name makes way, and every one for the
 * holder of the lease. A candidate of another client may stay: this one then makes way at the next look.
 */
export class Ties {
  #before: ReadonlySet<string> = new Set()

  /** Whether `own` is tied with others, and makes way. */
  look(
    own: StoredCandidate,
    others: readonly StoredCandidate[],
    holder: string | undefined,
  ): 'none' | 'stays' | 'makes-way' {
    const tied = others.filter((other) => isTied(own, other))
    const isKnown = tied.some(({ uid }) => this.#before.has(uid))
    this.#before = new Set(tied.map(({ uid }) => uid))
    if (tied.length === 0) return 'none'
    const isLater = tied.some(({ name }) => holder === name || (holder !== own.name && name < own.name))
    return isKnown || isLater ? 'makes-way' : 'stays'
  }
}

/** Whether the controller has no order for two candidates: they are equal, and were created in the same second. */
export function isTied(own: StoredCandidate, other: StoredCandidate): boolean {
  return (
    other.name !== own.name &&
    other.createdAt === own.createdAt &&
    other.binaryVersion === own.binaryVersion &&
    other.emulationVersion === own.emulationVersion
  )
}
