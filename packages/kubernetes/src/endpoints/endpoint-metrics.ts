import { metricsView, type MetricsView } from '../membership/metrics-view.ts'
import type { SliceKeeper } from './slice-keeper.ts'

const OUTCOMES = ['ok', 'conflict', 'failed'] as const

/** What the metrics of endpoints are read from. */
export interface EndpointMetricsOptions {
  readonly service: string
  readonly slice: string
  readonly keeper: SliceKeeper | undefined
  /** The address of this replica. */
  readonly address: string
  /** The metrics of a group of its own. */
  readonly group: MetricsView | undefined
}

/** The metrics of the endpoints of one replica, and those of its group. */
export function endpointMetrics({ service, slice, keeper, address, group }: EndpointMetricsOptions): MetricsView {
  const labels = { service, slice }
  const labelNames = ['service', 'slice']
  const isListed = () => keeper?.entries.some((entry) => entry.address === address) === true
  const own = metricsView([
    {
      name: 'tenure_endpoints',
      help: 'Entries in the EndpointSlice as this replica sees it.',
      type: 'gauge',
      labelNames,
      values: () => [{ labels, value: keeper?.entries.length ?? 0 }],
    },
    {
      name: 'tenure_endpoints_listed',
      help: 'Whether this replica is in the EndpointSlice, ready or not.',
      type: 'gauge',
      labelNames,
      values: () => [{ labels, value: isListed() ? 1 : 0 }],
    },
    {
      name: 'tenure_endpoints_writes_total',
      help: 'Writes of the EndpointSlice by this replica, by outcome.',
      type: 'counter',
      labelNames: [...labelNames, 'outcome'],
      values: () => keeper?.writes.values('outcome', OUTCOMES, labels) ?? [],
    },
  ])
  if (group === undefined) return own
  return {
    getMetricsAsArray: () => [...own.getMetricsAsArray(), ...group.getMetricsAsArray()],
    getMetricsAsJSON: async () => [...(await own.getMetricsAsJSON()), ...(await group.getMetricsAsJSON())],
  }
}
