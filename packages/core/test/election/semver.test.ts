import { describe, expect, test } from 'vitest'
import { compareVersions, isVersion } from '../../src/election/rules/semver.ts'

describe('A version', () => {
  test.each([
    '1.36.0',
    '0.0.0',
    '1.36.0-alpha.1+abc',
    '1.0.0+001',
    '1.0.0-0a.x-y',
    '1.0.0--1',
    '10.20.30-rc.0',
    '999999999999999.0.0',
    `1.2.3-${'a'.repeat(122)}`,
  ])('%s is one', (text) => {
    expect(isVersion(text)).toBe(true)
  })

  test.each([
    '',
    '1.36',
    'v1.36.0',
    '1.036.0',
    '1.36.0-01',
    '1.36.0-',
    '1.36.0+',
    '1.36.0-a..b',
    ' 1.36.0',
    '1.36.0\n',
    '1.2.3.4',
    '1.2.3-a_b',
    '1.2.3+a_b',
    '1000000000000000.0.0',
    `1.2.3-${'a'.repeat(123)}`,
    1.36,
    undefined,
  ])('%s is none', (text) => {
    expect(isVersion(text)).toBe(false)
  })
})

describe('The order of versions', () => {
  const inOrder = [
    '0.9.10',
    '1.0.0-1',
    '1.0.0-2',
    '1.0.0-10',
    '1.0.0-90071992547409921',
    '1.0.0-90071992547409922',
    '1.0.0--1',
    '1.0.0-1a',
    '1.0.0-a10',
    '1.0.0-a2',
    '1.0.0-alpha',
    '1.0.0-alpha.1',
    '1.0.0-alpha.beta',
    '1.0.0-beta',
    '1.0.0-rc.1',
    '1.0.0',
    '1.9.0',
    '1.10.0',
    '2.0.0-0',
  ]

  test('is that of semver.org, where a pre-release comes before its release', () => {
    for (const [i, a] of inOrder.entries())
      for (const [j, b] of inOrder.entries()) expect(compareVersions(a, b), `${a} ${b}`).toBe(Math.sign(i - j))
  })

  test('does not depend on the build', () => {
    expect(compareVersions('1.0.0+a', '1.0.0+b')).toBe(0)
    expect(compareVersions('1.0.0-rc.1+a', '1.0.0-rc.1')).toBe(0)
  })
})
