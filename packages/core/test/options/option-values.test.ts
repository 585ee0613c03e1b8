import { describe, expect, test } from 'vitest'
import { resolveDurationMs } from '../../src/options/duration.ts'
import { assertKnownKeys, nearestName } from '../../src/options/known-keys.ts'
import { assertBoolean, assertOneOf } from '../../src/options/one-of.ts'
import { OptionsError } from '../../src/options/options-error.ts'

describe('An option', () => {
  test('of several values takes each of them, and may be left out', () => {
    for (const value of ['a', 'b', undefined]) expect(() => assertOneOf('mode', value, ['a', 'b'])).not.toThrow()
    expect(() => assertOneOf('mode', 'c', ['a', 'b'])).toThrow('Expected `mode` to be one of a, b, got `c` (string)')
  })

  test('that is a boolean takes both, and may be left out', () => {
    for (const value of [true, false, undefined]) expect(() => assertBoolean('isOn', value)).not.toThrow()
    expect(() => assertBoolean('isOn', null)).toThrow('Expected `isOn` to be true or false, got `null`')
  })
})

describe('A duration', () => {
  test('is taken as it is, from its least value on', () => {
    expect(resolveDurationMs('waitMs', 1, {})).toBe(1)
    expect(resolveDurationMs('waitMs', 0, { min: 0 })).toBe(0)
    expect(resolveDurationMs('waitMs', 7, { fallback: 5 })).toBe(7)
  })

  test('has a default only where it is not required', () => {
    expect(resolveDurationMs('waitMs', undefined, { fallback: 5 })).toBe(5)
    expect(() => resolveDurationMs('waitMs', undefined, {})).toThrow(
      'Expected `waitMs` to be a number of milliseconds of at least 1, got `undefined`',
    )
  })

  test.each([0.5, 0, Number.NaN, Infinity, '5', null])('must not be %s', (value) => {
    expect(() => resolveDurationMs('waitMs', value, { fallback: 5 })).toThrow(
      'Expected `waitMs` to be a number of milliseconds of at least 1, got `',
    )
  })
})

describe('Options', () => {
  test.each([undefined, null, 'text', []])('must be an object, which %j is not', (value) => {
    expect(() => assertKnownKeys('`lease`', value, [])).toThrow('Expected `lease` to be an object, got `')
    expect(() => assertKnownKeys('`use()`', value, [])).toThrow(
      'Expected the options of `use()` to be an object, got `',
    )
  })

  test('of another place are named only where the typo is small, and no option of this place is as near', () => {
    const nested = { lease: ['nameSpace'], ops: ['port'] }
    const refuse = (key: string, known: readonly string[]) => () => assertKnownKeys('here', { [key]: 1 }, known, nested)
    expect(refuse('prt', ['zone'])).toThrow('Unknown option `prt` in here: it belongs in `ops`, as `ops.port`')
    expect(refuse('poqq', ['zone'])).toThrow('it belongs in `ops`, as `ops.port`')
    expect(refuse('pqqq', ['zone'])).toThrow('Unknown option `pqqq` in here; did you mean `zone`?')
    expect(refuse('prt', ['part'])).toThrow('Unknown option `prt` in here; did you mean `part`?')
    expect(() => assertKnownKeys('here', { prt: 1 }, [], nested)).toThrow('as `ops.port`')
  })

  test.each([
    ['', ['abc', 'a'], 'a'],
    ['abcd', ['abc', 'abcdef'], 'abc'],
    ['cab', ['abc', 'cabbage'], 'abc'],
    ['x', [], undefined],
  ])('with the key %j among %j are nearest to %j', (key, known, nearest) => {
    expect(nearestName(key, known)).toBe(nearest)
  })
})

describe('The error of an option', () => {
  test('shows the type of the value where it helps', () => {
    const end = (value: unknown) => OptionsError.expected('`zone` to be a name', value).message.split('got ')[1]
    expect(end('1')).toBe('`1` (string)')
    expect(end(1n)).toBe('`1` (bigint)')
    expect(end(undefined)).toBe('`undefined`')
    expect(end(null)).toBe('`null`')
    expect(end([])).toMatch(/ \(array\)$/)
    expect(end('x'.repeat(200))).toBe(`\`${'x'.repeat(200)}\` (string)`)
  })

  test('has a cause only where there is one', () => {
    const cause = new Error('why')
    const error = OptionsError.expected('`zone` to be a name', 1, { cause })
    expect(error).toMatchObject({ name: 'OptionsError', code: 'BAD_OPTIONS', cause })
    expect('cause' in OptionsError.expected('`zone` to be a name', 1)).toBe(false)
  })
})
