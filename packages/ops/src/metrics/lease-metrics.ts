import { type Candidacy, type CandidacyEvent, type LockFailure, LockRequestError } from '@tenure/core'
import { resolveTimingOptions } from '@tenure/core/internal'
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

/** What {@link LeaseMetrics} read from a candidacy. */
export type ObservedCandidacy = Pick<Candidacy, 'lease' | 'leaseOptions' | 'remainingMs' | 'lastProblem'>

const FAILURES: Readonly<Record<LockFailure, true>> = {
  conflict: true,
  'not-found': true,
  unauthenticated: true,
  forbidden: true,
  rejected: true,
  throttled: true,
  unreachable: true,
  'unknown-outcome': true,
}

/**
 * Metrics of leases and renewals. `leader_election_*` have the names, labels and meaning of client-go's, with one difference:
 * client-go counts every attempt on the slow path, and Tenure counts each renewal that succeeded on it.
 *
 * The gauges compare the validity of the lease with the clock when a page is rendered. Nothing is cached.
 */
export class LeaseMetrics {
  readonly #candidacies: () => readonly ObservedCandidacy[]
  /** The leases whose last renewal failed. */
  readonly #failing = new Set<string>()
  readonly #slowpath: Counter<'name'>
  readonly #renewDuration: Histogram
  readonly #renewFailures: Counter<'reason'>

  constructor(registry: Registry, candidacies: () => readonly ObservedCandidacy[]) {
    this.#candidacies = candidacies
    this.#defineScraped(registry)
    this.#slowpath = new Counter({
      name: 'leader_election_slowpath_total',
      help: "Total number of slow path exercised in renewing leader leases. 'name' is the string used to identify the lease. Please make sure to group by name.",
      labelNames: ['name'],
      registers: [registry],
    })
    this.#renewDuration = new Histogram({
      name: 'tenure_renew_duration_seconds',
      help: 'Time from the send of a renewal to its confirmation.',
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers: [registry],
    })
    this.#renewFailures = new Counter({
      name: 'tenure_renew_failures_total',
      help: 'Failed renewals, including those of unknown outcome, by reason.',
      labelNames: ['reason'],
      registers: [registry],
    })
    for (const reason of Object.keys(FAILURES)) this.#renewFailures.inc({ reason }, 0)
  }

  /** Adds a series for every lease, also for leases that are never held. */
  initialise(): void {
    for (const { lease } of this.#candidacies()) this.#slowpath.inc({ name: lease }, 0)
  }

  /** Records an event of a candidacy. Never throws. */
  observe(event: CandidacyEvent): void {
    const { lease } = event
    switch (event.kind) {
      case 'renewed':
        this.#renewDuration.observe(event.elapsedMs / 1000)
        // The slow path: the first write failed, and the lease turned out to be still held.
        if (this.#failing.delete(lease)) this.#slowpath.inc({ name: lease })
        break
      case 'request-failed':
        if (event.purpose !== 'renew') break
        this.#failing.add(lease)
        this.#renewFailures.inc({ reason: failureOf(event.error) })
        break
      case 'term-over':
        this.#failing.delete(lease)
        break
      default:
    }
  }

  #defineScraped(registry: Registry): void {
    const leases = () => this.#candidacies()
    // A draining replica is still master: it renews, and no other replica may act. A replica whose term has expired is not.
    registry.registerMetric(
      new Gauge({
        name: 'leader_election_master_status',
        help: "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master. 'name' is the string used to identify the lease. Please make sure to group by name.",
        labelNames: ['name'],
        registers: [],
        collect() {
          for (const candidacy of leases()) this.set({ name: candidacy.lease }, candidacy.remainingMs() > 0 ? 1 : 0)
        },
      }),
    )
    registry.registerMetric(
      new Gauge({
        name: 'tenure_lease_remaining_seconds',
        help: 'Time for which this replica may act without a further renewal; 0 if it may not act.',
        labelNames: ['name'],
        registers: [],
        collect() {
          for (const candidacy of leases()) this.set({ name: candidacy.lease }, candidacy.remainingMs() / 1000)
        },
      }),
    )
    registry.registerMetric(durationGauge(leases))
    registry.registerMetric(failingGauge(leases))
  }
}

function durationGauge(leases: () => readonly ObservedCandidacy[]): Gauge<'name'> {
  return new Gauge({
    name: 'tenure_lease_duration_seconds',
    help: 'The option `leaseDurationMs`: how long other replicas wait after the last renewal of a leader before they acquire the lease.',
    labelNames: ['name'],
    registers: [],
    collect() {
      for (const { lease, leaseOptions } of leases()) {
        this.set({ name: lease }, resolveTimingOptions(leaseOptions).leaseDurationMs / 1000)
      }
    },
  })
}

/** A follower whose requests fail looks healthy in every other metric, and cannot take over. */
function failingGauge(leases: () => readonly ObservedCandidacy[]): Gauge<'name' | 'reason'> {
  return new Gauge({
    name: 'tenure_lease_requests_failing',
    help: 'Whether the last request of this replica for the lease failed, by reason: 1 until a request succeeds.',
    labelNames: ['name', 'reason'],
    registers: [],
    collect() {
      for (const { lease, lastProblem } of leases()) {
        const failure = lastProblem && failureOf(lastProblem)
        for (const reason of Object.keys(FAILURES)) this.set({ name: lease, reason }, Number(reason === failure))
      }
    },
  })
}

function failureOf(error: Error): LockFailure {
  return error instanceof LockRequestError ? error.failure : 'unknown-outcome'
}
