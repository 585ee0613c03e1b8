/** A registry of metrics, as the option `ops.registries` takes it: that of prom-client has more. */
export interface MetricsView {
  /** Returns every metric with its current values. */
  getMetricsAsJSON(): Promise<readonly object[]>
  /** Returns every metric without its values. */
  getMetricsAsArray(): readonly { readonly name: string }[]
}

/** One metric. */
export interface Metric {
  readonly name: string
  readonly help: string
  readonly type: 'gauge' | 'counter'
  readonly labelNames: readonly string[]
  /** Reads the values. */
  readonly values: () => readonly MetricValue[]
}

/** One value of a metric. */
export interface MetricValue {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Makes the registry of these metrics. */
export function metricsView(metrics: readonly Metric[]): MetricsView {
  return {
    getMetricsAsArray: () => metrics.map(({ name, help, type, labelNames }) => ({ name, help, type, labelNames })),
    getMetricsAsJSON: async () =>
      metrics.map(({ name, help, type, values }) => ({ name, help, type, aggregator: 'sum', values: values() })),
  }
}

/** Counts by the value of one label. */
export class LabelledCounter<K extends string> {
  readonly #counts = new Map<K, number>()

  /** Counts one more. */
  inc(label: K): void {
    this.#counts.set(label, this.#of(label) + 1)
  }

  /** The counts of these labels. */
  values(label: string, keys: readonly K[], more: Readonly<Record<string, string>>): readonly MetricValue[] {
    return keys.map((key) => ({ labels: { ...more, [label]: key }, value: this.#of(key) }))
  }

  #of(label: K): number {
    return this.#counts.get(label) ?? 0
  }
}
