import type { MetricDefinition } from '../reference/metric-definitions.ts'

/** A curve, or several with other labels. */
interface Query {
  readonly expr: string
  readonly legend: string
}

/** What a panel of the dashboard shows: one metric. */
export interface PanelContent {
  readonly title: string
  /** The help text of the metric. */
  readonly description: string
  /** As Grafana names it. */
  readonly unit: string
  readonly queries: readonly Query[]
}

/** Nothing has happened yet: these have no series until something goes wrong, and a panel without data would look broken. */
const SERIES_IN_TROUBLE = ['tenure_gate_refusals_total', 'tenure_fence_refusals_total', 'tenure_stuck_tasks']

/** Clocks start anywhere. What counts is their rate: 1 for a right one. */
const CLOCK = 'tenure_clock_seconds'

/** Derives the panel of a metric from its definition. */
export function panelOf(metric: MetricDefinition): PanelContent {
  const { name, help } = metric
  const isDuration = name.endsWith('_seconds') && name !== CLOCK
  return { title: titleOf(name), description: help, unit: isDuration ? 's' : 'short', queries: queriesOf(metric) }
}

function titleOf(name: string): string {
  const words = name.replace(/^(tenure|leader_election|kubernetes)_/, '').replace(/_(total|seconds)$/, '')
  const title = words.replaceAll('_', ' ')
  return `${title.charAt(0).toUpperCase()}${title.slice(1)}${name === CLOCK ? ' rate' : ''}`
}

function queriesOf(metric: MetricDefinition): readonly Query[] {
  const { name, type, labelNames = [] } = metric
  const selector = selectorOf(metric)
  const legend = labelNames.map((label) => `{{${label}}}`).join(' ')
  if (type === 'histogram') {
    const rate = `sum by (${['le', ...labelNames].join(', ')}) (rate(${name}_bucket${selector}[$__rate_interval]))`
    return [0.5, 0.99].map((quantile) => ({
      expr: `histogram_quantile(${quantile}, ${rate})`,
      legend: `p${quantile * 100} ${legend}`.trim(),
    }))
  }
  const trouble = SERIES_IN_TROUBLE.includes(name) ? ' or vector(0)' : ''
  if (type === 'counter') {
    const by = labelNames.length === 0 ? 'sum' : `sum by (${labelNames.join(', ')})`
    return [{ expr: `${by} (increase(${name}${selector}[$__rate_interval]))${trouble}`, legend }]
  }
  const value = name === CLOCK ? `deriv(${name}${selector}[5m])` : `${name}${selector}`
  const expr = `max by (${['pod', ...labelNames].join(', ')}) (${value})${trouble}`
  return [{ expr, legend: `{{pod}} ${legend}`.trim() }]
}

/** The variables of the dashboard choose. `name` is a lease, but with feature gates. */
function selectorOf({ name, labelNames = [] }: MetricDefinition): string {
  const ofLease = labelNames.includes('name') && !name.startsWith('kubernetes_')
  return `{namespace=~"$namespace"${ofLease ? ',name=~"$lease"' : ''}}`
}
