import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createOps } from '@tenure/ops'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'

const ROOT = join(import.meta.dirname, '../..')

interface Rule {
  readonly alert?: string
  readonly record?: string
  readonly expr: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

function rulesOf(file: string): readonly Rule[] {
  const text = readFileSync(join(ROOT, 'packages/ops/monitoring', file), 'utf8')
  return (parse(text) as { groups: { rules: Rule[] }[] }).groups.flatMap(({ rules }) => rules)
}

const TENURE = rulesOf('tenure.rules.yaml')
const LEASES = rulesOf('leases.rules.yaml')
const ALERTS = [...TENURE, ...LEASES].filter(({ alert }) => alert !== undefined)

/** The labels of a target, which Prometheus adds. */
const TARGET = ['namespace', 'pod', 'instance']

/** The metrics of kube-state-metrics, as its documents list them. */
const KUBE_STATE_METRICS = new Map([
  ['kube_lease_owner', ['lease', 'owner_kind', 'owner_name', 'namespace', 'lease_holder']],
  ['kube_lease_renew_time', ['lease', 'namespace']],
  ['kube_pod_container_status_last_terminated_exitcode', ['container', 'pod', 'namespace', 'uid']],
  ['kube_pod_container_status_restarts_total', ['container', 'pod', 'namespace', 'uid']],
])

/** Every metric of the operations port, with its labels. */
function definedMetrics(): ReadonlyMap<string, readonly string[]> {
  const { registry } = createOps({ port: false })
  const definitions = registry.getMetricsAsArray() as unknown as readonly {
    readonly name: string
    readonly labelNames?: readonly string[]
  }[]
  return new Map(definitions.map(({ name, labelNames = [] }) => [name, labelNames]))
}

/** The metrics in an expression, each with the labels that its selector names. */
function metricsIn(expr: string): readonly { readonly metric: string; readonly labels: readonly string[] }[] {
  const found = expr.matchAll(/(?<![\w:])((?:tenure|leader_election|kube)_\w+)(?:\{([^}]*)\})?/g)
  return [...found].map(([, metric = '', selector = '']) => ({
    metric,
    labels: [...selector.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label),
  }))
}

/** The labels by which an expression groups, matches or ignores. */
function groupingLabels(expr: string): readonly string[] {
  return [...expr.matchAll(/\b(?:by|on|without|ignoring) \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/,\s*/))
}

/** What an expression names and nothing defines. */
function undefinedIn(expr: string, metrics: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const used = metricsIn(expr)
  const known = (metric: string) => metrics.get(metric) ?? []
  const problems = used.flatMap(({ metric, labels }) =>
    metrics.has(metric)
      ? labels.filter((label) => ![...TARGET, ...known(metric)].includes(label)).map((label) => `${metric}{${label}}`)
      : [metric],
  )
  const all = new Set([...TARGET, ...used.flatMap(({ metric }) => known(metric)), ...recordedLabels(expr)])
  return [...problems, ...groupingLabels(expr).filter((label) => !all.has(label))]
}

/** The labels of the recorded metrics in an expression: those of what they record. */
function recordedLabels(expr: string): readonly string[] {
  return TENURE.filter(({ record }) => record !== undefined && expr.includes(record)).flatMap((rule) =>
    metricsIn(rule.expr).flatMap(({ metric }) => definedMetrics().get(metric) ?? []),
  )
}

describe('the alert rules', () => {
  test('name only metrics and labels that the operations port defines', () => {
    const metrics = definedMetrics()
    expect(TENURE.flatMap(({ expr }) => undefinedIn(expr, metrics))).toEqual([])
  })

  test('for any lease name only metrics and labels of kube-state-metrics', () => {
    expect(LEASES.flatMap(({ expr }) => undefinedIn(expr, KUBE_STATE_METRICS))).toEqual([])
  })

  test('that name a missing metric or label are found', () => {
    const expr = 'sum by (namespace, queue) (tenure_gone{name="a"}) + tenure_tasks{lane=~"a|b",controller!="x"}'
    expect(undefinedIn(expr, definedMetrics())).toEqual(['tenure_gone', 'tenure_tasks{lane}', 'queue'])
  })

  test('name reasons of failures and ends that exist', async () => {
    const page = readFileSync(join(ROOT, 'packages/ops/src/metrics/lease-metrics.ts'), 'utf8')
    const ends = readFileSync(join(ROOT, 'packages/ops/src/metrics/term-metrics.ts'), 'utf8')
    const values = TENURE.flatMap(({ expr }) => [...expr.matchAll(/(reason|end)!?[=~]+"([^"]*)"/g)])
    const named = values.flatMap(([, label, list = '']) => list.split('|').map((value) => ({ label, value })))
    expect(named.length).toBeGreaterThan(0)
    for (const { label, value } of named) {
      expect(label === 'end' ? ends : page).toMatch(new RegExp(`^  '?${value}'?: true,$`, 'm'))
    }
  })

  test('have distinct names, a severity, and texts for people', () => {
    expect(new Set(ALERTS.map(({ alert }) => alert)).size).toBe(ALERTS.length)
    for (const { labels, annotations } of ALERTS) {
      expect(labels?.['severity']).toMatch(/^(critical|warning)$/)
      expect(Object.keys(annotations ?? {})).toEqual(['summary', 'description', 'runbook'])
    }
  })

  test.each(ALERTS.map(({ alert = '', annotations }) => [alert, annotations?.['runbook'] ?? ''] as const))(
    'lead from %s to a section of the runbooks',
    (alert, runbook) => {
      const [page = '', section] = runbook.split('#')
      const text = readFileSync(join(ROOT, page), 'utf8')
      expect(section).toBe(alert.toLowerCase())
      expect(text.split('\n')).toContain(`## ${alert}`)
    },
  )
})
