import { OptionsError } from '@tenure/core'
import { describe, expect, test } from 'vitest'
import { assertDnsLabel, assertDnsSubdomain } from '../src/client/dns-name.ts'
import { assertLabels } from '../src/client/labels.ts'

const long = (length: number) => 'a'.repeat(length)

describe('an RFC 1123 label', () => {
  test.each(['a', '0', 'a-b', 'a--b', '0a', long(63)])('is `%s`', (value) => {
    expect(() => assertDnsLabel('group', value)).not.toThrow()
  })

  test.each(['', '-a', 'a-', 'A', 'a.b', 'a_b', 'aB', 'a b', 'a\n', long(64), 1, undefined])('is not `%s`', (value) => {
    expect(() => assertDnsLabel('group', value)).toThrow(OptionsError)
    expect(() => assertDnsLabel('group', value)).toThrow(
      'Expected `group` to be an RFC 1123 label (at most 63 of a-z, 0-9 and "-", beginning and ending with a letter or digit), got `',
    )
  })
})

describe('an RFC 1123 subdomain', () => {
  test.each(['a', '0.1', 'a-b.c--d', 'a.b.c', long(253)])('is `%s`', (value) => {
    expect(() => assertDnsSubdomain('name', value)).not.toThrow()
  })

  test.each(['', '.a', 'a.', 'a..b', 'a.-b', 'a-.b', 'A', 'a.B', '-a', 'a-', 'a_b', 'a.b\n', long(254), 1])(
    'is not `%s`',
    (value) => {
      expect(() => assertDnsSubdomain('name', value)).toThrow(OptionsError)
      expect(() => assertDnsSubdomain('name', value)).toThrow(
        'Expected `name` to be an RFC 1123 subdomain (at most 253 of a-z, 0-9, "-" and ".", each part beginning and ending with a letter or digit), got `',
      )
    },
  )
})

describe('labels', () => {
  test.each([
    'a',
    'A-b_c.D',
    '0',
    long(63),
    'example.com/a',
    'a/b',
    'a.b/c',
    'a-b.c0/x',
    `${long(253)}/a`,
    `${long(63)}.${long(63)}/a`,
  ])('may have the key `%s`', (key) => {
    expect(() => assertLabels('labels', { [key]: 'x' })).not.toThrow()
  })

  test.each([
    '',
    '-a',
    'a-',
    '.a',
    'a b',
    'ä',
    long(64),
    'a/b/c',
    '/a',
    'a/',
    'A/b',
    'a..b/c',
    '-a/b',
    'a-/b',
    'a.-b/c',
    `${long(254)}/a`,
    'a_b/c',
  ])('may not have the key `%s`', (key) => {
    expect(() => assertLabels('lease.labels', { good: 'x', [key]: 'x' })).toThrow(
      'Expected the keys of `lease.labels` to be at most 63 of A-Z, a-z, 0-9, "-", "_" and ".", beginning and ending with a ' +
        `letter or digit, after an optional DNS prefix and a slash, got \`${key.slice(0, 100)}`,
    )
  })

  test.each(['', 'a', '0', 'A-b_c.D', long(63)])('may have the value `%s`', (value) => {
    expect(() => assertLabels('labels', { a: value })).not.toThrow()
  })

  test.each(['-a', 'a-', '_a', 'a b', 'a/b', long(64), 1, undefined])('may not have the value `%s`', (value) => {
    expect(() => assertLabels('labels', { tier: value })).toThrow(
      'Expected `labels[\'tier\']` to be empty or at most 63 of A-Z, a-z, 0-9, "-", "_" and ".", beginning and ' +
        'ending with a letter or digit, got `',
    )
  })

  test.each([undefined, null, 'x', [], ['a']])('are an object with string values, not %j', (labels) => {
    expect(() => assertLabels('labels', labels)).toThrow('Expected `labels` to be an object with string values, got `')
  })
})
