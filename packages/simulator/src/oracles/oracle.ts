import type { Fact } from '../fact.ts'
import type { Run } from '../run.ts'
import type { OracleId } from '../violation.ts'

/** A rule that every run must keep. */
export interface Oracle {
  readonly id: OracleId
  /** The rule, in one sentence. */
  readonly rule: string
  /** Starts to check a run. Calls `violated` if the rule is broken. */
  readonly judge: (run: Run, violated: (message: string) => void) => Judge
}

/** The handlers of an oracle, by kind of fact. It ignores kinds without a handler. */
export type Judge = { readonly [K in Fact['kind']]?: (fact: Extract<Fact, { kind: K }>) => void }

/** Passes a fact to its handler. */
export function tell(judge: Judge, fact: Fact): void {
  const handle = judge[fact.kind] as ((fact: Fact) => void) | undefined
  handle?.(fact)
}
