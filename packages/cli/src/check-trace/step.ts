import type { TraceLine } from '@tenure/core/internal'
import type { Finding, Rule } from './finding.ts'
import type { LeaseRun } from './lease-run.ts'
import type { Replica } from './replica.ts'

/** One step of a replica, while it is judged. */
export class Step {
  readonly replica: Replica
  readonly lease: LeaseRun
  readonly line: TraceLine
  /** Where it stands. */
  readonly place: { readonly file: string; readonly line: number }
  /** The state before the step. */
  readonly before: string
  /** Set if the replica sees that it holds the lease no more. */
  isLost = false
  readonly #report: (finding: Finding) => void

  constructor(replica: Replica, lease: LeaseRun, line: TraceLine, at: number, report: (finding: Finding) => void) {
    this.replica = replica
    this.lease = lease
    this.line = line
    this.place = { file: replica.file, line: at }
    this.before = replica.state
    this.#report = report
  }

  /** The rule is broken here. */
  broken(rule: Rule, message: string): void {
    this.#report({ rule, ...this.place, message })
  }
}
