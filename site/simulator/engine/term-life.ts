/** A term as it is seen from outside. Times are true times in milliseconds from the beginning. */
export interface TermLife {
  /** The replica that leads. */
  readonly holder: string
  readonly epoch: bigint
  readonly from: number
  /** Until when it may act, if it does not renew again. */
  expiresAt: number
  /** When it began to end. */
  endingFrom: number | undefined
  /** When nothing of it was left. */
  to: number | undefined
  /** How it ended. */
  outcome: string | undefined
  /** When it acted last. */
  actedAt: number
  /** Since when its process is paused, or was paused when it expired. */
  pausedFrom: number | undefined
  /** Whether its process was paused when it expired. */
  isExcused: boolean
}

/** Two terms at a time. */
export interface Overlap {
  readonly from: number
  readonly to: number
  /** The earlier and the later term. */
  readonly terms: readonly [TermLife, TermLife]
}

/** The process of the term continues, or ends. */
export function endPause(term: TermLife, now: number): void {
  term.isExcused = isExcused(term, now)
  if (!term.isExcused) term.pausedFrom = undefined
}

/**
 * Whether the process was paused when its term expired. A paused process does nothing, and nothing can end its term. From then on only
 * what it does counts.
 */
export function isExcused({ expiresAt, pausedFrom, isExcused }: TermLife, now: number): boolean {
  return isExcused || (pausedFrom !== undefined && pausedFrom <= expiresAt && now >= expiresAt)
}

/**
 * Until when the term lasts, as far as is known: until nothing of it is left. A term whose process was paused at its expiry lasts until
 * then, or until its last act.
 */
export function endOf(term: TermLife, now: number): number {
  const { to = now, expiresAt, actedAt } = term
  return isExcused(term, now) ? Math.min(to, Math.max(expiresAt, actedAt)) : to
}

/** Every time in which two terms last. The oracle: there is none. */
export function overlapsOf(terms: readonly TermLife[], now: number): readonly Overlap[] {
  return terms.flatMap((later, index) =>
    terms.slice(0, index).flatMap((earlier) => {
      const to = Math.min(endOf(earlier, now), endOf(later, now))
      return to > later.from ? [{ from: later.from, to, terms: [earlier, later] as const }] : []
    }),
  )
}
