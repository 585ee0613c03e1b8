import { setTimeout as sleep } from 'node:timers/promises'
import type { ReplicaProcess } from '../replica-process.ts'
import type { InputSeries } from './fired-alerts.ts'

/** A replica to scrape. The labels are those of its target. */
export interface Target {
  readonly pod: string
  readonly replica: ReplicaProcess
}

/** Scrapes replicas over HTTP at short intervals and keeps every sample of the metrics of Tenure. */
export class Scraper {
  readonly #targets: () => readonly Target[]
  readonly #intervalMs: number
  /** By series, the value of each interval; undefined where the series was not in the page. */
  readonly #samples = new Map<string, (string | undefined)[]>()
  readonly #over = new AbortController()
  readonly #done: Promise<void>
  #length = 0

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
    const length = this.#length
    const series = [...this.#samples].map(([name, values]) => ({ series: name, values: written(values, length) }))
    return { series, length }
  }

  async #run(): Promise<void> {
    const begun = performance.now()
    while (!this.#over.signal.aborted) {
      // The interval in which the pages are read, also after a late one: values never move in time by more than half an interval.
      const index = Math.round((performance.now() - begun) / this.#intervalMs)
      await Promise.all(this.#targets().map((target) => this.#scrape(target, index)))
      this.#length = index + 1
      const waitMs = begun + (index + 1) * this.#intervalMs - performance.now()
      await sleep(Math.max(0, waitMs), undefined, { signal: this.#over.signal }).catch(() => {})
    }
  }

  async #scrape({ pod, replica }: Target, index: number): Promise<void> {
    if (replica.metricsUrl === undefined || !replica.isRunning) return
    const signal = AbortSignal.timeout(this.#intervalMs)
    const page = await fetch(replica.metricsUrl, { signal, headers: { connection: 'close' } })
      .then((response) => response.text())
      // As Prometheus does with a target that does not answer.
      .catch(() => '')
    for (const line of page.split('\n')) {
      const [, name, labels = '', value = ''] = /^(tenure_\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
      if (name === undefined || name.endsWith('_bucket')) continue
      const target = `namespace="ops",pod="${pod}",instance="${pod}"`
      const series = `${name}{${[labels, target].filter((part) => part !== '').join(',')}}`
      const values = this.#samples.get(series) ?? []
      values[index] = value
      this.#samples.set(series, values)
    }
  }
}

/** A series ends at the first scrape that does not show it. */
function written(values: readonly (string | undefined)[], length: number): string {
  return Array.from({ length }, (_, index) => {
    const isGone = values[index] === undefined && index > 0 && values[index - 1] !== undefined
    return values[index] ?? (isGone ? 'stale' : '_')
  }).join(' ')
}
