import { membership } from '@tenure/kubernetes'
import { endpoints } from '@tenure/kubernetes/endpoints'
import { createManager, MemoryLeaseStore } from 'tenure'
import { table } from './declarations.ts'

/** What prom-client knows of a metric. */
interface Definition {
  readonly name: string
  readonly help: string
  readonly type: string
  readonly labelNames?: readonly string[]
}

/** The page of all metrics, as a manager registers them. */
export async function metricsPage(): Promise<string> {
  const store = new MemoryLeaseStore()
  const manager = createManager({
    lease: { name: 'reference' },
    lock: ({ name }) => store.lock(name),
    ops: { port: false },
    signals: false,
    logLevel: 'silent',
    env: {},
    argv: [],
  })
  const views = [
    manager.ops.registry,
    membership({ group: 'reference' }).metrics,
    endpoints({ service: 'reference', mode: 'none' }).metrics,
  ]
  const definitions = views.flatMap((view) => view.getMetricsAsArray() as unknown as readonly Definition[])
  const isOwn = ({ name }: Definition) => /^(tenure|leader_election|kubernetes)_/.test(name)
  const rows = definitions
    .filter(isOwn)
    .toSorted((a, b) => a.name.localeCompare(b.name))
    .map(({ name, type, help, labelNames = [] }) => [
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
