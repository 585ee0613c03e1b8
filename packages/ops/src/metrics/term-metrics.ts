import type { Candidacy, CandidacyEvent, Clock, EndReason, Term } from '@tenure/core'
import type { DrainOutcome, TermOverEvent, WarmUpOutcome } from '@tenure/core/internal'
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

/** What {@link TermMetrics} are made of. */
export interface TermMetricsOptions {
  readonly registry: Registry
  /** All candidacies of the manager. */
  readonly candidacies: () => readonly Pick<Candidacy, 'lease' | 'stuckTasks'>[]
  /** The runs of controllers that have not ended. */
  readonly terms: () => readonly Term[]
  /** Measures the drains in progress. */
  readonly clock: Clock
}

const END_REASONS: Readonly<Record<EndReason, true>> = {
  shutdown: true,
  'step-down': true,
  transferred: true,
  'controller-failed': true,
  'renew-deadline': true,
  superseded: true,
  'lease-deleted': true,
  stalled: true,
  'elector-failed': true,
}

const DRAIN_OUTCOMES: Readonly<Record<DrainOutcome, true>> = { clean: true, aborted: true, wedged: true }

const WARM_UP_OUTCOMES: Readonly<Record<WarmUpOutcome['kind'], true>> = { ready: true, failed: true, cancelled: true }

/** Metrics of terms, drains, handovers and warm-ups. */
export class TermMetrics {
  readonly #options: TermMetricsOptions
  readonly #terms: Counter<'name' | 'end'>
  readonly #duration: Histogram
  readonly #drain: Histogram<'outcome'>
  readonly #handover: Histogram
  readonly #warmUps: Counter<'name' | 'outcome'>
  /** When the drains in progress began, by lease. */
  readonly #drainingSince = new Map<string, number>()

  constructor(options: TermMetricsOptions) {
    const registers = [options.registry]
    this.#options = options
    this.#terms = new Counter({
      name: 'tenure_terms_total',
      help: 'Ended terms, by reason.',
      labelNames: ['name', 'end'],
      registers,
    })
    this.#duration = new Histogram({
      name: 'tenure_term_duration_seconds',
      help: 'Duration of a term, from its beginning to the end of its last task.',
      buckets: [0.1, 1, 5, 15, 60, 300, 900, 3600, 21_600, 86_400, 604_800],
      registers,
    })
    this.#drain = new Histogram({
      name: 'tenure_drain_duration_seconds',
      help: 'Duration of a drain, from its beginning to the end of the last task of the term, by outcome.',
      labelNames: ['outcome'],
      buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60],
      registers,
    })
    this.#handover = new Histogram({
      name: 'tenure_handover_seconds',
      help: 'Time from the moment when this replica saw that the lease was free to the beginning of its term.',
      buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60],
      registers,
    })
    this.#warmUps = new Counter({
      name: 'tenure_warm_ups_total',
      help: 'Ended warm-ups of controllers, by outcome.',
      labelNames: ['name', 'outcome'],
      registers,
    })
    for (const outcome of Object.keys(DRAIN_OUTCOMES)) this.#drain.zero({ outcome })
    defineTasks(options)
    defineStuckTasks(options)
    this.#defineDraining()
  }

  /** Adds a series for every lease and label value, also for leases that are never held. */
  initialise(): void {
    for (const { lease: name } of this.#options.candidacies()) {
      for (const end of Object.keys(END_REASONS)) this.#terms.inc({ name, end }, 0)
      for (const outcome of Object.keys(WARM_UP_OUTCOMES)) this.#warmUps.inc({ name, outcome }, 0)
    }
  }

  /** Records an event of a candidacy. Never throws. */
  observe(event: CandidacyEvent): void {
    if (event.kind === 'term-began') this.#handover.observe(event.handoverMs / 1000)
    if (event.kind === 'warm-up') this.#warmUps.inc({ name: event.lease, outcome: event.outcome })
    if (event.kind === 'term-ending' && !this.#drainingSince.has(event.lease)) {
      this.#drainingSince.set(event.lease, this.#options.clock.now())
    }
    if (event.kind !== 'term-over') return
    this.#drainingSince.delete(event.lease)
    this.#terms.inc({ name: event.lease, end: endOf(event) })
    this.#duration.observe(event.durationMs / 1000)
    this.#drain.observe({ outcome: event.drain }, event.drainMs / 1000)
  }

  /** The histogram shows a drain after its end, and not at all if the process ends with it. */
  #defineDraining(): void {
    const { registry, candidacies, clock } = this.#options
    const drainingMs = (lease: string) => {
      const since = this.#drainingSince.get(lease)
      return since === undefined ? 0 : clock.now() - since
    }
    registry.registerMetric(
      new Gauge({
        name: 'tenure_draining_seconds',
        help: 'Duration of the drain in progress; 0 without one.',
        labelNames: ['name'],
        registers: [],
        collect() {
          for (const { lease } of candidacies()) this.set({ name: lease }, drainingMs(lease) / 1000)
        },
      }),
    )
  }
}

/** A transferred term counts as transferred, for any reason. A term whose transfer failed counts as a step-down. */
function endOf({ reason, outcome }: TermOverEvent): EndReason {
  if (outcome === 'transferred') return 'transferred'
  return reason === 'transferred' ? 'step-down' : reason
}

/** Counts when a page is rendered, so the series of a term disappear with the term. */
function defineTasks({ registry, terms }: TermMetricsOptions): void {
  registry.registerMetric(
    new Gauge({
      name: 'tenure_tasks',
      help: 'Tasks that have not settled, including `run()`.',
      labelNames: ['controller'],
      registers: [],
      collect() {
        this.reset()
        for (const term of terms()) this.inc({ controller: term.controller }, term.taskCount)
      },
    }),
  )
}

/** Has series only while a drain is wedged, so followers have none. */
function defineStuckTasks({ registry, candidacies }: TermMetricsOptions): void {
  registry.registerMetric(
    new Gauge({
      name: 'tenure_stuck_tasks',
      help: 'Tasks that block a wedged drain.',
      labelNames: ['name', 'controller'],
      registers: [],
      collect() {
        this.reset()
        for (const candidacy of candidacies()) {
          for (const { controller } of candidacy.stuckTasks()) this.inc({ name: candidacy.lease, controller })
        }
      },
    }),
  )
}
