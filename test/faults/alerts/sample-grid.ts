import type { InputSeries } from './fired-alerts.ts'

/** Every sample of the metrics of Tenure that scrapes have found, on one grid of intervals. */
export class SampleGrid {
  /** By series, the value of each interval; undefined where the series was not in the page. */
  readonly #samples = new Map<string, (string | undefined)[]>()
  readonly #wants: (name: string) => boolean
  #length = 0

  /** @param wants tells which samples to keep */
  constructor(wants: (name: string) => boolean = () => true) {
    this.#wants = wants
  }

  /** The number of intervals so far. */
  get length(): number {
    return this.#length
  }

  /** Adds the page of a replica in this interval. The labels `namespace`, `pod` and `instance` are those of its target. */
  add(page: string, { pod, index }: { readonly pod: string; readonly index: number }): void {
    this.#length = Math.max(this.#length, index + 1)
    for (const line of page.split('\n')) {
      const [, name, labels = '', value = ''] =
        /^((?:tenure|leader_election|kubernetes)_\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
      if (name === undefined || !this.#wants(name)) continue
      const target = `namespace="ops",pod="${pod}",instance="${pod}"`
      const series = `${name}{${[labels, target].filter((part) => part !== '').join(',')}}`
      const values = this.#samples.get(series) ?? []
      values[index] = value
      this.#samples.set(series, values)
    }
  }

  /** All series. One ends at the first scrape that does not show it. */
  series(): readonly InputSeries[] {
    return [...this.#samples].map(([series, values]) => ({ series, values: written(values, this.#length) }))
  }
}

function written(values: readonly (string | undefined)[], length: number): string {
  return Array.from({ length }, (_, index) => {
    const isGone = values[index] === undefined && index > 0 && values[index - 1] !== undefined
    return values[index] ?? (isGone ? 'stale' : '_')
  }).join(' ')
}
