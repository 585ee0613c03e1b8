import { type Logger, TermEndedError } from '@tenure/core'
import { isA } from '@tenure/core/internal'
import { Gauge, Registry } from 'prom-client'
import type { BoundedWaits } from '../server/bounded-waits.ts'
import type { MetricsPage } from '../server/ops-server.ts'
import { mergeFamilies, type MetricFamily, type RefusedFamily } from './metric-family.ts'
import type { CollectedMetric, FailedMetric } from './served-registry.ts'

/** What {@link createMetricsPage} is made of. */
export interface MetricsPageOptions {
  /** Collects all metrics for a request. Of metrics that cannot be merged, the page serves the first. */
  readonly collect: (waits: BoundedWaits) => Promise<readonly CollectedMetric[]>
  readonly logger: Logger
}

/**
 * Returns the function that renders the page of all metrics.
 *
 * The page leaves out a metric that cannot be served, logs it once, and counts it in `tenure_metrics_skipped`. The page still serves
 * all other metrics.
 */
export function createMetricsPage({
  collect,
  logger,
}: MetricsPageOptions): (waits: BoundedWaits) => Promise<MetricsPage> {
  const reported = new Set<string>()
  const report = ({ name, reason, error }: SkippedMetric) => {
    const key = `${name} ${reason}`
    if (reported.has(key) || reported.size >= MAX_REPORTED) return
    reported.add(key)
    logger.warn(
      { event: 'metric-skipped', metric: name, reason, err: error },
      `metric ${name} is not served: ${reason}`,
    )
  }
  return async (waits) => {
    const collected = await collect(waits)
    const merged = [...groupByName(collected.flatMap(familyIn))].map(([first, ...others]) =>
      mergeFamilies(first, others),
    )
    const skipped = [...collected.flatMap(failureIn), ...merged.flatMap(({ refused }) => refused)]
    skipped.forEach(report)
    const families = merged.map(({ family }) => family)
    return {
      contentType: Registry.PROMETHEUS_CONTENT_TYPE,
      body: await render([...families, await skippedFamily(skipped)]),
    }
  }
}

/** Applications choose the names of metrics, so the set of logged names is bounded. */
const MAX_REPORTED = 1000

interface SkippedMetric {
  readonly name: string
  readonly reason: RefusedFamily['reason'] | 'collect-failed'
  readonly error?: unknown
}

function familyIn(collected: CollectedMetric): readonly MetricFamily[] {
  return collected.kind === 'family' ? [collected.family] : []
}

/** A metric whose run ends while the page is rendered is not a failure. */
function failureIn(collected: CollectedMetric): readonly SkippedMetric[] {
  if (collected.kind === 'family' || isA(collected.error, TermEndedError)) return []
  const { name, error }: FailedMetric = collected
  return [{ name, reason: 'collect-failed', error }]
}

function groupByName(families: readonly MetricFamily[]): Iterable<readonly [MetricFamily, ...MetricFamily[]]> {
  const groups = new Map<string, [MetricFamily, ...MetricFamily[]]>()
  for (const family of families) {
    const group = groups.get(family.name)
    if (group === undefined) groups.set(family.name, [family])
    else group.push(family)
  }
  return groups.values()
}

async function skippedFamily(skipped: readonly SkippedMetric[]): Promise<MetricFamily> {
  const gauge = new Gauge({
    name: 'tenure_metrics_skipped',
    help: 'Metrics left out of this page, by reason.',
    labelNames: ['metric', 'reason'],
    registers: [],
  })
  for (const { name, reason } of skipped) gauge.inc({ metric: name, reason })
  return (await gauge.get()) as unknown as MetricFamily
}

/** Lets prom-client write the text. It accepts any object whose `get()` returns a family. */
function render(families: readonly MetricFamily[]): Promise<string> {
  const registry = new Registry()
  for (const family of families) {
    const metric = { ...family, get: async () => family }
    registry.registerMetric(metric as unknown as Gauge)
  }
  return registry.metrics()
}
