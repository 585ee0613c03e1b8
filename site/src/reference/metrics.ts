import { table } from './declarations.ts'
import { metricDefinitions } from './metric-definitions.ts'

/** The page of all metrics, as a manager registers them. */
export async function metricsPage(): Promise<string> {
  const rows = metricDefinitions().map(({ name, type, help, labelNames = [] }) => [
    `\`${name}\``,
    type,
    labelNames.map((label) => `\`${label}\``).join(', '),
    help,
  ])
  return (
    [
      '# Metrics',
      'The operations port serves them on `/metrics`, together with the default metrics of prom-client for the process and the metrics of the terms.',
      table(['metric', 'type', 'labels', 'meaning'], rows),
      'Those of `tenure_endpoints` and `tenure_member` are there if the program passes `metrics` of its endpoints or membership to `ops.registries`.',
      '`tenure_metrics_skipped` counts registries that failed while the page was made.',
      '[Define metrics of a term](../how-to/define-metrics.md) shows how to add your own.',
    ].join('\n\n') + '\n'
  )
}
