import { setTimeout as sleep } from 'node:timers/promises'
import type { ReplicaProcess } from '../replica-process.ts'
import type { InputSeries } from './fired-alerts.ts'
import { SampleGrid } from './sample-grid.ts'

/** A replica to scrape. The labels are those of its target. */
export interface Target {
  readonly pod: string
  readonly replica: ReplicaProcess
}

/** Scrapes replicas over HTTP at short intervals and keeps the samples that rules look at. */
export class Scraper {
  readonly #targets: () => readonly Target[]
  readonly #intervalMs: number
  readonly #grid = new SampleGrid((name) => name.startsWith('tenure_') && !name.endsWith('_bucket'))
  readonly #over = new AbortController()
  readonly #done: Promise<void>

  private constructor(targets: () => readonly Target[], intervalMs: number) {
    this.#targets = targets
    this.#intervalMs = intervalMs
    this.#done = this.#run()
  }

  /** @param targets is asked before every scrape */
  static start(targets: () => readonly Target[], intervalMs: number): Scraper {
    return new Scraper(targets, intervalMs)
  }

  /** Ends and returns all series, on one grid of intervals. */
  async stop(): Promise<{ readonly series: readonly InputSeries[]; readonly length: number }> {
    this.#over.abort()
    await this.#done
    const { length } = this.#grid
    return { series: this.#grid.series(), length }
  }

  async #run(): Promise<void> {
    const begun = performance.now()
    while (!this.#over.signal.aborted) {
      // The interval in which the pages are read, also after a late one: values never move in time by more than half an interval.
      const index = Math.round((performance.now() - begun) / this.#intervalMs)
      const pages = this.#targets().map(async ({ pod, replica }) => ({ pod, page: await this.#pageOf(replica) }))
      for (const { pod, page } of await Promise.all(pages)) this.#grid.add(page, { pod, index })
      const waitMs = begun + (index + 1) * this.#intervalMs - performance.now()
      await sleep(Math.max(0, waitMs), undefined, { signal: this.#over.signal }).catch(() => {})
    }
  }

  /** Empty if the replica does not answer: to Prometheus, all its series end then. */
  async #pageOf(replica: ReplicaProcess): Promise<string> {
    if (replica.metricsUrl === undefined || !replica.isRunning) return ''
    const signal = AbortSignal.timeout(this.#intervalMs)
    return fetch(replica.metricsUrl, { signal, headers: { connection: 'close' } })
      .then((response) => response.text())
      .catch(() => '')
  }
}
