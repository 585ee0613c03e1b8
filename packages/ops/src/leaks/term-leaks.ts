import type { CandidacyEvent, Clock, Logger, Term } from '@tenure/core'
import type { Timer } from '@tenure/core/internal'
import { Counter, type Registry } from 'prom-client'
import { type Counted, HighWaterMarks } from './high-water-marks.ts'
import { Reachability } from './reachability.ts'

/** The kinds of leaks that can be found without instrumentation. */
const KINDS = ['task', 'term', 'metric', 'health-check', 'process-listener', 'resource'] as const

type LeakKind = (typeof KINDS)[number]

/** What {@link TermLeaks} are made of. */
export interface TermLeaksOptions {
  readonly registry: Registry
  readonly logger: Logger
  readonly clock: Clock
  /** The runs of controllers that have not ended. */
  readonly terms: () => readonly Term[]
  /** Names of the metrics that do not belong to a term. */
  readonly metricNames: () => readonly string[]
  /** Names of the health checks that are served. */
  readonly healthCheckNames: () => readonly string[]
}

type TermFacts = Pick<Term, 'lease' | 'epoch' | 'controller'>

/** Things that close asynchronously have this long after the end of a term. */
const SETTLE_MS = 1000

/**
 * Looks for leaks after every term, logs them and counts them. Made for production: it reads existing counters, patches nothing and
 * requests no garbage collection. So it finds only some of the leaks that a test finds.
 *
 * 1. A task that continues after its term has ended is reported at once. Only an abandoned wedged drain can cause it.
 * 2. A Term that is still reachable is reported after three Terms that ended later have been collected.
 * 3. Metrics, health checks and listeners on `process` are reported if there are more than after any earlier term. Other resources
 *    fluctuate and are reported after three rises in a row. The state after the first term is the baseline.
 * 4. Nothing is counted while another term of this process lasts, because its resources cannot be told apart.
 */
export class TermLeaks {
  readonly #options: TermLeaksOptions
  readonly #leaks: Counter<'kind'>
  readonly #reachability = new Reachability<TermFacts>()
  readonly #marks = new HighWaterMarks()
  #check: { readonly timer: Timer; readonly lease: string; readonly epoch: bigint } | undefined

  constructor(options: TermLeaksOptions) {
    this.#options = options
    this.#leaks = new Counter({
      name: 'tenure_leaks_total',
      help: 'Leaks of ended terms that were found without instrumentation, by kind.',
      labelNames: ['kind'],
      registers: [options.registry],
    })
    for (const kind of KINDS) this.#leaks.inc({ kind }, 0)
  }

  /** Watches the run until the returned function is called. */
  onTerm(term: Term): () => void {
    const { lease, epoch, controller } = term
    return this.#reachability.begin(term, { lease, epoch, controller })
  }

  /** Records an event of a candidacy. Never throws. */
  observe(event: CandidacyEvent): void {
    if (event.kind === 'term-began') this.#checkNow()
    if (event.kind !== 'term-over') return
    const { lease, epoch } = event
    this.#reportTasks(lease, epoch)
    this.#check?.timer.cancel()
    this.#check = { lease, epoch, timer: this.#options.clock.setTimer(SETTLE_MS, () => this.#checkNow()) }
  }

  /** Cancels the pending check. */
  stop(): void {
    this.#check?.timer.cancel()
    this.#check = undefined
  }

  #checkNow(): void {
    const check = this.#check
    if (check === undefined) return
    this.stop()
    for (const { controller, ...term } of this.#reachability.findKept()) {
      this.#report('term', { ...term, name: controller, count: 1 })
    }
    if (this.#options.terms().some(({ epoch }) => epoch !== 0n)) return
    const { lease, epoch } = check
    for (const { kind, name, by } of this.#marks.update(this.#count())) {
      this.#report(kind as LeakKind, { lease, epoch, name, count: by })
    }
  }

  #reportTasks(lease: string, epoch: bigint): void {
    for (const term of this.#options.terms()) {
      if (term.lease !== lease || term.epoch !== epoch || term.taskCount === 0) continue
      this.#report('task', { lease, epoch, name: term.controller, count: term.taskCount })
    }
  }

  #report(kind: LeakKind, found: { lease: string; epoch: bigint; name: string; count: number }): void {
    this.#leaks.inc({ kind }, found.count)
    this.#options.logger.warn({ event: 'leak', kind, ...found }, `left behind: ${found.count} ${kind} (${found.name})`)
  }

  #count(): readonly Counted[] {
    const { metricNames, healthCheckNames } = this.#options
    return [
      ...metricNames().map((name) => ({ kind: 'metric', name, count: 1, fluctuates: false })),
      ...healthCheckNames().map((name) => ({ kind: 'health-check', name, count: 1, fluctuates: false })),
      ...process.eventNames().map((name) => ({
        kind: 'process-listener',
        name: String(name),
        count: process.listenerCount(name),
        fluctuates: false,
      })),
      ...tally(process.getActiveResourcesInfo()).map(([name, count]) => ({
        kind: 'resource',
        name,
        count,
        fluctuates: true,
      })),
    ]
  }
}

function tally(names: readonly string[]): readonly (readonly [name: string, count: number])[] {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return [...counts]
}
