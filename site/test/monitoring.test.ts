import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { MONITORING, monitoringFiles } from '../src/monitoring/monitoring.ts'
import { shippedRunbooks } from '../src/monitoring/runbooks.ts'

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
