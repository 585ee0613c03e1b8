import { textOf } from '@tenure/core/internal'
import { type Metric, Registry } from 'prom-client'
import { type BoundedWaits, TIMED_OUT } from '../server/bounded-waits.ts'
import type { Labels, MetricFamily } from './metric-family.ts'

/** A metric whose values could not be obtained. */
export interface FailedMetric {
  readonly name: string
  readonly error: unknown
}

/** One metric of a registry: its values, or the error that prevented them. */
export type CollectedMetric =
  { readonly kind: 'family'; readonly family: MetricFamily } | ({ readonly kind: 'failed' } & FailedMetric)

/**
 * A prom-client registry that can be ended, and whose metrics are collected one by one, so that a failing metric does not
 * affect others.
 */
export class ServedRegistry extends Registry {
  #defaultLabels: Labels = {}
  #errorOf: ((metric: string) => Error) | undefined

  override setDefaultLabels(labels: Labels): void {
    super.setDefaultLabels(labels)
    this.#defaultLabels = labels
  }

  override clear(): void {
    super.clear()
    this.#defaultLabels = {}
  }

  override registerMetric<T extends string>(metric: Metric<T>): void {
    if (this.#errorOf !== undefined) throw this.#errorOf(nameOf(metric))
    super.registerMetric(metric)
  }

  /** Collects the current values of all metrics, in the order of definition. Never rejects. */
  collect(waits: BoundedWaits): Promise<readonly CollectedMetric[]> {
    return Promise.all(this.#metrics().map((metric) => this.#collectOne(metric, waits)))
  }

  /**
   * Removes every metric. From then on every use of a removed metric, and every new definition, throws the error that `errorOf`
   * returns. A metric that is also in another registry continues to work there.
   */
  end(errorOf: (metric: string) => Error): void {
    this.#errorOf = errorOf
    for (const metric of this.#metrics()) {
      if (metric.registers.every((registry) => registry === this)) seal(metric, () => errorOf(metric.name))
    }
    this.clear()
  }

  async #collectOne(metric: RegisteredMetric, waits: BoundedWaits): Promise<CollectedMetric> {
    try {
      const family = await waits.inTime(metric.get())
      if (family === TIMED_OUT) throw new Error(`collect() timed out after ${waits.timeoutMs} ms`)
      const { name, help, type, aggregator, values } = family
      const labelled = values.map((value) => ({ ...value, labels: { ...this.#defaultLabels, ...value.labels } }))
      return { kind: 'family', family: { name, help, type, aggregator, values: labelled } }
    } catch (error) {
      return { kind: 'failed', name: metric.name, error }
    }
  }

  /** prom-client declares these as plain objects. At run time they are the metrics. */
  #metrics(): readonly RegisteredMetric[] {
    return this.getMetricsAsArray() as unknown as readonly RegisteredMetric[]
  }
}

interface RegisteredMetric {
  readonly name: string
  readonly registers: readonly Registry[]
  get(): Promise<MetricFamily>
}

function nameOf(metric: object): string {
  return textOf(Reflect.get(metric, 'name'))
}

/**
 * Every operation of a prom-client metric and of its labelled children reads the map of its values. A map that throws therefore reaches
 * all of them, also the children that were created before.
 */
function seal(metric: object, error: () => Error): void {
  const refuse = () => {
    throw error()
  }
  Object.defineProperty(metric, 'hashMap', { get: refuse, set: refuse })
}
