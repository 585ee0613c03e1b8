import type { Fact } from '../fact.ts'
import type { Run } from '../run.ts'
import type { OracleId } from '../violation.ts'

/** A rule that every run is judged by. */
export interface Oracle {
  readonly id: OracleId
  /** What has to be true, in one sentence. */
  readonly rule: string
  /** Begins to judge a run; `violated` tells that the rule is broken. */
  readonly judge: (run: Run, violated: (message: string) => void) => (fact: Fact) => void
}
