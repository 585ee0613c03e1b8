import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { demoRun } from './demo-run.ts'
import { expressionsWithData } from './fired-alerts.ts'
import { RULES } from './rule-series.ts'

/** What of the dashboard of Grafana is read here. */
interface Dashboard {
  readonly panels: readonly { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }[]
}

const INTERVAL_MS = 15_000
const { panels } = JSON.parse(readFileSync(join(RULES, 'tenure.dashboard.json'), 'utf8')) as Dashboard

/** As Grafana asks Prometheus, if the reader has chosen all. Without the zero that stands in for series of what has not happened. */
function asked(expr: string): string {
  const chosen = expr.replaceAll(/\$(?:namespace|lease)\b/g, '.*').replaceAll('$__rate_interval', '1m')
  return chosen.replace(/ or vector\(0\)$/, '')
}

test('No panel of the dashboard is without data after a demo run', async () => {
  const grid = await demoRun()
  const scrapes = {
    rules: join(RULES, 'tenure.rules.yaml'),
    series: grid.series(),
    intervalMs: INTERVAL_MS,
    length: grid.length,
  }
  const queries = panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expr: asked(expr) })))
  const missing = 'max by (pod) (tenure_no_such_metric)'
  const found = await expressionsWithData([...queries.map(({ expr }) => expr), missing], scrapes)
  expect(queries.length).toBeGreaterThan(30)
  expect(queries.filter(({ expr }) => !found.includes(expr)).map(({ title, expr }) => `${title}: ${expr}`)).toEqual([])
  expect(found).not.toContain(missing)
})
