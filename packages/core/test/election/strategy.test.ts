import { describe, expect, test } from 'vitest'
import { areAttributes } from '../../src/election/rules/strategy.ts'

describe('Attributes', () => {
  test.each<[string, unknown]>([
    ['nothing', {}],
    ['a text', { zone: 'a' }],
    ['numbers', { freeMb: 512, load: -0.5 }],
    ['booleans', { isLarge: true, isSpot: false }],
    ['all of them', { zone: '', freeMb: 0, isLarge: false }],
  ])('may be %s', (_, value) => {
    expect(areAttributes(value)).toBe(true)
  })

  test.each<[string, unknown]>([
    ['missing', undefined],
    ['null', null],
    ['a text', 'zone'],
    ['a number', 7],
    ['a function', () => ({})],
    ['a list', []],
    ['a list of texts', ['a']],
    ['a record with a record', { zone: 'a', more: {} }],
    ['a record with null', { zone: 'a', more: null }],
    ['a record with an undefined value', { zone: 'a', more: undefined }],
    ['a record with a number without an end', { load: Infinity }],
    ['a record with no number', { load: Number.NaN }],
    ['a record with a bigint', { load: 7n }],
  ])('are not %s', (_, value) => {
    expect(areAttributes(value)).toBe(false)
  })

  test('have at most 512 characters as JSON', () => {
    const ofLength = (length: number) => ({ a: 'x'.repeat(length - '{"a":""}'.length) })
    expect(areAttributes(ofLength(512))).toBe(true)
    expect(areAttributes(ofLength(513))).toBe(false)
  })
})
