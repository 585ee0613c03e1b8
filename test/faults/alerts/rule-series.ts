import { join } from 'node:path'
import { firedAlerts, type InputSeries } from './fired-alerts.ts'

/** The folder of the rules. */
export const RULES = join(import.meta.dirname, '../../../packages/ops/monitoring')

/** Four values a minute, as with a usual scrape interval. */
const INTERVAL_MS = 15_000

/** The number of values in so many minutes. */
export const MINUTES = (count: number): number => 4 * count

/** The values of a series: a list of `[value, times]`; `+` and a number counts up. */
export type Values = readonly (readonly [number | 'stale' | '_', number])[]

function constant(value: number): Values {
  return [[value, MINUTES(30)]]
}

/** Goes up by `step` with each value. */
export function rising(step: number, length = MINUTES(30), from = 0): Values {
  return Array.from({ length }, (_, index) => [from + step * index, 1] as const)
}

export function written(values: Values): string {
  return values.flatMap(([value, times]) => Array.from({ length: times }, () => String(value))).join(' ')
}

/** What a replica of `ops/janitor` shows, as far as rules look at it: that of a healthy leader or follower, but for `changes`. */
export function replica(pod: string, changes: Readonly<Record<string, Values>>, leads = true): readonly InputSeries[] {
  const healthy: Readonly<Record<string, Values>> = {
    'tenure_lease_remaining_seconds{name}': leads ? constant(12) : constant(0),
    'tenure_lease_duration_seconds{name}': constant(15),
    'tenure_draining_seconds{name}': constant(0),
    'tenure_terms_total{name,end="superseded"}': constant(0),
    'tenure_terms_total{name,end="shutdown"}': constant(0),
    'tenure_gate_refusals_total{controller="sweeper",verb="PUT"}': constant(0),
    'tenure_lease_requests_failing{name,reason="unauthenticated"}': constant(0),
    'tenure_lease_requests_failing{name,reason="unreachable"}': constant(0),
    'tenure_clock_seconds{name}': rising(15, MINUTES(30), pod.length),
    'tenure_store_restores_total{}': constant(0),
  }
  return Object.entries({ ...healthy, ...changes }).map(([series, values]) => {
    const [metric = '', labels = ''] = series.replace(/\}$/, '').split('{')
    const named = labels.replace(/^name(?=,|$)/, 'name="janitor"')
    const target = `namespace="ops",pod="${pod}",instance="${pod}:8080",job="janitor"`
    return { series: `${metric}{${[named, target].filter((part) => part !== '').join(',')}}`, values: written(values) }
  })
}

/** The alerts of a file of rules that fire within half an hour. */
export const fired = (file: string, series: readonly InputSeries[]): Promise<readonly string[]> =>
  firedAlerts({ rules: join(RULES, file), series, intervalMs: INTERVAL_MS, length: MINUTES(30) })
