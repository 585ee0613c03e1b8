import type { TraceLine } from '@tenure/core/internal'
import type { Line } from './shape.ts'
import type { Finding, Rule } from './finding.ts'
import type { LeaseRun, Place } from './lease-run.ts'
import type { Replica, Sent } from './replica.ts'

/** The present step of a replica, while it is judged. Every replica has one, because there are very many steps. */
export class Step {
  readonly replica: Replica
  readonly lease: LeaseRun
  /** Where it stands. The same object for all lines of a file. */
  place: Place
  /** The state before the step. */
  before: TraceLine['s'] = 'idle'
  /** Set if the replica sees that it holds the lease no more. */
  isLost = false
  /** The acquisition that the step shows to have happened. */
  acquired: Sent | undefined
  #line: Line | undefined
  readonly #report: (finding: Finding) => void

  constructor(replica: Replica, lease: LeaseRun, place: Place, report: (finding: Finding) => void) {
    this.replica = replica
    this.lease = lease
    this.place = place
    this.#report = report
  }

  /** What the trace says. @throws Error before the first step */
  get line(): Line {
    if (this.#line === undefined) throw new Error('There was no step yet')
    return this.#line
  }

  /** The replica takes its next step. */
  next(line: Line, place: Place): void {
    this.#line = line
    this.place = place
    this.before = this.replica.state
    this.isLost = false
    this.acquired = undefined
  }

  /** The rule is broken here. */
  broken(rule: Rule, message: string): void {
    const { file, line } = this.place
    this.#report({ rule, file, line, message })
  }
}
