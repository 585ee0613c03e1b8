import type { Run } from '../record/chronicle.ts'
import { type LeaseVersion, observedTerms, termInForce } from './lease-terms.ts'

/** A write of the janitor's report. */
export interface ReportWrite {
  readonly version: bigint
  /** The term that the writer believed it led. */
  readonly epoch: bigint
}

/** The records in which to look for overlaps. */
export interface Evidence {
  /** Every version of the lease, in ascending order. */
  readonly leases: readonly LeaseVersion[]
  readonly reports: readonly ReportWrite[]
  readonly runs: readonly Run[]
}

/**
 * Describes every sign of two leaders at once.
 *
 * By the order of the server: a report written by a term that was not in force at that version, and a controller that ran for a
 * term that the lease never had. By the clock: two runs of controllers at one time.
 */
export function findOverlaps({ leases, reports, runs }: Evidence): readonly string[] {
  const terms = observedTerms(leases)
  const epochs = new Set(terms.map(({ epoch }) => epoch))
  const foreignWrites = reports.flatMap(({ version, epoch }) => {
    const inForce = termInForce(terms, version)?.epoch
    if (inForce === epoch) return []
    return [`version ${version} was written by the term with epoch ${epoch}, in force was ${inForce ?? 'none'}`]
  })
  const unfounded = runs
    .filter(({ epoch }) => !epochs.has(epoch))
    .map((run) => `${describe(run)} ran for a term that the lease never had`)
  return [...foreignWrites, ...unfounded, ...simultaneousRuns(runs)]
}

function simultaneousRuns(runs: readonly Run[]): readonly string[] {
  return runs.flatMap((run, index) =>
    runs
      .slice(index + 1)
      .filter((other) => run.beganAt < overAt(other) && other.beganAt < overAt(run))
      .map((other) => {
        const ms = Math.min(overAt(run), overAt(other)) - Math.max(run.beganAt, other.beganAt)
        return `${describe(run)} and ${describe(other)} ran at the same time for ${ms.toFixed(1)} ms`
      }),
  )
}

function overAt({ overAt }: Run): number {
  return overAt ?? Infinity
}

function describe({ replica, epoch }: Run): string {
  return `the controller of ${replica.name} (PID ${replica.pid}, epoch ${epoch})`
}
