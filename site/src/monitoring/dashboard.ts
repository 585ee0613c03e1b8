import type { MetricDefinition } from '../reference/metric-definitions.ts'
import { type PanelContent, panelOf } from './panels.ts'

/** The sections of the dashboard. A metric is in the first that has the beginning of its name. */
const SECTIONS: readonly (readonly [title: string, beginnings: readonly string[]])[] = [
  ['Leases', ['leader_election_master', 'tenure_lease_', 'tenure_clock']],
  ['Terms', ['tenure_term', 'tenure_drain', 'tenure_handover', 'tenure_warm', 'tenure_tasks', 'tenure_stuck']],
  ['Renewals', ['tenure_renew', 'leader_election_slowpath', 'tenure_event_loop']],
  ['Trouble', ['tenure_gate', 'tenure_fence', 'tenure_leaks', 'tenure_store']],
  ['Leases with a strategy', ['tenure_candidate', 'tenure_election', 'tenure_preemptions']],
  ['Members of a group', ['tenure_member']],
  ['Replicas of a Service', ['tenure_endpoints']],
  ['Other', ['']],
]

const DATASOURCE = { type: 'prometheus', uid: '${datasource}' } as const
const COLUMNS = 3
const WIDTH = 24 / COLUMNS
const HEIGHT = 8

/** The dashboard of Grafana with one panel for each metric. */
export function dashboardOf(metrics: readonly MetricDefinition[]): object {
  return {
    uid: 'tenure',
    title: 'Tenure',
    tags: ['tenure'],
    editable: true,
    schemaVersion: 39,
    refresh: '30s',
    time: { from: 'now-1h', to: 'now' },
    templating: { list: variables() },
    panels: placed(metrics),
  }
}

function variables(): readonly object[] {
  const lease = 'tenure_lease_duration_seconds'
  const query = (name: string, label: string, text: string) => ({
    name,
    label,
    type: 'query',
    datasource: DATASOURCE,
    query: { query: text, refId: name },
    refresh: 2,
    sort: 1,
    multi: true,
    includeAll: true,
    allValue: '.*',
    current: { text: ['All'], value: ['$__all'] },
  })
  return [
    { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' },
    query('namespace', 'Namespace', `label_values(${lease}, namespace)`),
    query('lease', 'Lease', `label_values(${lease}{namespace=~"$namespace"}, name)`),
  ]
}

/** All panels, each section below a row with its title. */
function placed(metrics: readonly MetricDefinition[]): readonly object[] {
  const panels: object[] = []
  let y = 0
  for (const [title, members] of sectionsOf(metrics)) {
    panels.push({ id: panels.length + 1, type: 'row', title, collapsed: false, panels: [], gridPos: area(0, y++) })
    for (const [index, metric] of members.entries()) {
      const gridPos = { ...area(WIDTH * (index % COLUMNS), y), w: WIDTH, h: HEIGHT }
      panels.push(timeSeries(panelOf(metric), { id: panels.length + 1, gridPos }))
      if (index % COLUMNS === COLUMNS - 1 || index === members.length - 1) y += HEIGHT
    }
  }
  return panels
}

function sectionsOf(metrics: readonly MetricDefinition[]): ReadonlyMap<string, readonly MetricDefinition[]> {
  const sectionOf = ({ name }: MetricDefinition) =>
    SECTIONS.findIndex(([, beginnings]) => beginnings.some((beginning) => name.startsWith(beginning)))
  const sections = SECTIONS.map(
    ([title], index) => [title, metrics.filter((metric) => sectionOf(metric) === index)] as const,
  )
  return new Map(sections.filter(([, members]) => members.length > 0))
}

function area(x: number, y: number): Readonly<Record<'x' | 'y' | 'w' | 'h', number>> {
  return { x, y, w: 24, h: 1 }
}

function timeSeries(
  { title, description, unit, queries }: PanelContent,
  place: { readonly id: number; readonly gridPos: object },
): object {
  return {
    ...place,
    type: 'timeseries',
    title,
    description,
    datasource: DATASOURCE,
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
    targets: queries.map(({ expr, legend }, index) => ({
      refId: String.fromCodePoint(65 + index),
      datasource: DATASOURCE,
      expr,
      legendFormat: legend === '' ? title : legend,
    })),
  }
}
