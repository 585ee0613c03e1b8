import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { dashboardOf } from '../src/monitoring/dashboard.ts'
import { MONITORING, monitoringFiles } from '../src/monitoring/monitoring.ts'
import { shippedRunbooks } from '../src/monitoring/runbooks.ts'
import { metricDefinitions } from '../src/reference/metric-definitions.ts'

/** What of a panel is read here. */
interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly description?: string
  readonly gridPos: Readonly<Record<'x' | 'y' | 'w' | 'h', number>>
}

test.each([...(await monitoringFiles())])(
  'monitoring/%s is what the sources say; `npm run docs:write` writes it again',
  (name, text) => {
    expect(readFileSync(join(MONITORING, name), 'utf8')).toBe(text)
  },
)

describe('In the runbooks of the package', () => {
  const shipped = shippedRunbooks(
    '# Runbooks\n\nFor you.\n\n## A\n\nSee [nobody leads](troubleshooting.md#nobody) or [B](#b).\n',
  )

  test('a link to another document becomes its path', () => {
    expect(shipped).toContain('See nobody leads (`docs/troubleshooting.md#nobody`)')
  })

  test('a link to a section stays', () => {
    expect(shipped).toContain('or [B](#b).')
  })

  test('the introduction says where the paths lead', () => {
    expect(shipped).toMatch(/^# Runbooks\n\nFor you\. Paths that begin with `docs\/`/)
  })
})

describe('The dashboard', () => {
  const metrics = metricDefinitions()
  const { panels } = dashboardOf(metrics) as { readonly panels: readonly Panel[] }
  const shown = panels.filter(({ type }) => type !== 'row')

  test('has a panel for each metric, with its help', () => {
    expect(new Set(shown.map(({ description }) => description))).toEqual(new Set(metrics.map(({ help }) => help)))
    expect(shown.length).toBe(metrics.length)
  })

  test('has distinct panels that do not overlap', () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, index) => `${x + (index % w)} ${y + Math.floor(index / w)}`),
    )
    expect(new Set(cells).size).toBe(cells.length)
  })

  test('leaves no metric to the last section, but those of feature gates', () => {
    const last = panels.findIndex(({ title }) => title === 'Other')
    expect(panels.slice(last + 1).map(({ title }) => title)).toEqual(['Feature enabled'])
  })
})
