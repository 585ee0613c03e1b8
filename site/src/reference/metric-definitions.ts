import { membership } from '@tenure/kubernetes'
import { endpoints } from '@tenure/kubernetes/endpoints'
import { createManager, MemoryLeaseStore } from 'tenure'

/** A metric as its source defines it. */
export interface MetricDefinition {
  readonly name: string
  readonly help: string
  readonly type: string
  readonly labelNames?: readonly string[]
}

/** All metrics of Tenure, by name: those that a manager registers, and those of a membership and of endpoints. */
export function metricDefinitions(): readonly MetricDefinition[] {
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
  const definitions = views.flatMap((view) => view.getMetricsAsArray() as unknown as readonly MetricDefinition[])
  const isOwn = ({ name }: MetricDefinition) => /^(tenure|leader_election|kubernetes)_/.test(name)
  return definitions.filter(isOwn).toSorted((a, b) => a.name.localeCompare(b.name))
}
