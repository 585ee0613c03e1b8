import type { Fact } from '../fact.ts'
import type { Run } from '../run.ts'
import type { OracleId } from '../violation.ts'

/** A rule that every run is judged by. */
export interface Oracle {
  readonly id: OracleId
  /** What has to be true, in one sentence. */
  readonly rule: string
  /** Begins to judge a run; `violated` tells that the rule is broken. */
  readonly judge: (run: Run, violated: (message: string) => void) => Judge
}

/** What an oracle does with each kind of fact. It ignores the kinds that have no entry. */
export type Judge = { readonly [K in Fact['kind']]?: (fact: Extract<Fact, { kind: K }>) => void }

/** Hands a fact to the judge. */
export function tell(judge: Judge, fact: Fact): void {
  const handle = judge[fact.kind] as ((fact: Fact) => void) | undefined
  handle?.(fact)
}
