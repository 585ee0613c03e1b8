import { type BoundedWaits, TIMED_OUT } from '../server/bounded-waits.ts'
import type { MetricFamily } from './metric-family.ts'
import type { CollectedMetric } from './served-registry.ts'

/** A registry of prom-client, of any copy and of version 14 or 15, whose metrics Tenure serves beside its own. */
export interface MetricsSource {
  /** Returns every metric with its current values. */
  getMetricsAsJSON(): Promise<readonly object[]>
  /** Returns every metric without its values. */
  getMetricsAsArray(): readonly { readonly name: string }[]
}

/** Collects the current values of all metrics of a registry of the user. If one metric fails, the whole registry fails. */
export async function collectFrom(source: MetricsSource, waits: BoundedWaits): Promise<readonly CollectedMetric[]> {
  try {
    const families = await waits.inTime(source.getMetricsAsJSON())
    if (families === TIMED_OUT) throw new Error(`getMetricsAsJSON() timed out after ${waits.timeoutMs} ms`)
    return families.map((family) => ({ kind: 'family', family: family as MetricFamily }))
  } catch (error) {
    return [{ kind: 'failed', name: 'ops.registries', error }]
  }
}

/** Whether a registry holds the default metrics of prom-client. */
export function hasProcessMetrics(source: MetricsSource): boolean {
  return source.getMetricsAsArray().some(({ name }) => name === 'process_cpu_user_seconds_total')
}
