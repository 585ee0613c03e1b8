import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { format, resolveConfig } from 'prettier'
import { metricDefinitions } from '../reference/metric-definitions.ts'
import { ROOT } from '../stage.ts'
import { dashboardOf } from './dashboard.ts'
import { shippedRunbooks } from './runbooks.ts'

/** The folder of `@tenure/ops` that has what Prometheus and Grafana read, and what comes with it. */
export const MONITORING: string = join(ROOT, 'packages/ops/monitoring')

/** The files beside the rules that are made of sources, by name. */
export async function monitoringFiles(): Promise<ReadonlyMap<string, string>> {
  const style = await resolveConfig(join(MONITORING, 'runbooks.md'))
  const runbooks = shippedRunbooks(await readFile(join(ROOT, 'docs/runbooks.md'), 'utf8'))
  const dashboard = JSON.stringify(dashboardOf(metricDefinitions()))
  return new Map([
    ['runbooks.md', await format(runbooks, { ...style, parser: 'markdown' })],
    ['tenure.dashboard.json', await format(dashboard, { ...style, parser: 'json' })],
  ])
}
