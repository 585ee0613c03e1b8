import { constantFrom, dictionary, assert, integer, oneof, property, string, array } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { findMember, isObjectAt, withMembers, withValue } from '../src/gate/json-splice.ts'

/** The text of the value of a key in the object that begins at `at`; undefined where a parser has to look for it. */
function valueIn(text: string, key: string, at = 0): string | undefined {
  const found = findMember(text, at, key)
  return typeof found === 'object' ? text.slice(found.from, found.to) : found
}

describe('the value of a key in the text of an object', () => {
  test.each([
    ['{"a":1}', 'a', '1'],
    ['{"a":1}', 'b', 'none'],
    ['{}', 'a', 'none'],
    ['{"a":1,"b":-2.5e3,"c":true}', 'b', '-2.5e3'],
    ['{"a":1,"b":null}', 'b', 'null'],
    ['{"a":"b","b":"c"}', 'b', '"c"'],
    ['{"ab":1,"a":2}', 'a', '2'],
    ['{"a":[1,{"b":2},[]],"b":3}', 'b', '3'],
    ['{"a":[1,{"b":2},[]],"b":3}', 'a', '[1,{"b":2},[]]'],
    ['{"a":{"a":{"a":1}}}', 'a', '{"a":{"a":1}}'],
    ['{"a":"}","b":{"c":"]}"},"d":4}', 'd', '4'],
    ['{"a":"\\"","b":2}', 'b', '2'],
    ['{"a":"\\\\","b":2}', 'b', '2'],
    ['{"a":["\\\\\\"]"],"b":2}', 'b', '2'],
    ['{"":1,"a":2}', '', '1'],
  ])('%s is found without a parser: %s is %s', (text, key, value) => {
    expect(valueIn(text, key)).toBe(value)
  })

  test('is looked for in the object that begins at the place', () => {
    const text = '[{"a":1},{"b":{"a":2}}]'
    expect(valueIn(text, 'a', text.indexOf('{"b"'))).toBe('none')
    expect(valueIn(text, 'a', text.indexOf('{"a":2'))).toBe('2')
  })

  test.each([
    ['{ "a":1}', 'with a space'],
    ['{"a" :1}', 'with a space behind the key'],
    ['{"a":1', 'that does not end'],
    ['{"a":"x', 'whose text does not end'],
    ['{"a":[1', 'whose list does not end'],
    ['{"a":["x', 'whose text in a list does not end'],
    ['{"a":', 'without a value'],
    ['{"a', 'whose key does not end'],
    ['{a:1}', 'whose key has no quotes'],
    ['{"a":1]', 'that ends as a list'],
    ['{"a":1]}', 'whose list ends and never began'],
    ['{"a":1]"b":2}', 'without a comma'],
    ['{xa":1}', 'whose key has one quote'],
    ['{"a":"x"y}', 'with something behind a value'],
    ['{"\\u0061":1}', 'with an escape in a key'],
    ['{"a":1,"a":2}', 'with a key twice'],
    ['{"b":1,"\\u0061":2}', 'with an escape in another key'],
    ['{"a":{}{}', 'with two values'],
    ['', 'that is not there'],
  ])('is left to a parser in %s, a text %s', (text) => {
    expect(valueIn(text, 'a')).toBeUndefined()
  })

  test('is what JSON.stringify() wrote there, in any object', () => {
    const names = oneof(
      string().filter((name) => JSON.stringify(name) === `"${name}"`),
      constantFrom('a', 'b'),
    )
    const values = oneof(string(), integer(), array(string()), dictionary(string(), string()), constantFrom(null, true))
    assert(
      property(dictionary(names, values), names, (object, key) => {
        const text = JSON.stringify(object)
        const value = Object.hasOwn(object, key) ? JSON.stringify(object[key]) : 'none'
        expect(valueIn(text, key)).toBe(value)
      }),
      { numRuns: 2000 },
    )
  })
})

test('members are added before those that are there', () => {
  expect(withMembers('{}', 0, '"a":1')).toBe('{"a":1}')
  expect(withMembers('{"b":2}', 0, '"a":1')).toBe('{"a":1,"b":2}')
  expect(withMembers('[{"b":2}]', 1, '"a":1')).toBe('[{"a":1,"b":2}]')
})

test('a value is replaced in its place', () => {
  expect(withValue('{"a":1,"b":2}', { from: 5, to: 6 }, '"x"')).toBe('{"a":"x","b":2}')
})

test('an object begins with a brace', () => {
  expect([isObjectAt('{}', 0), isObjectAt('[{}]', 1), isObjectAt('[{}]', 0), isObjectAt('', 0)]).toEqual([
    true,
    true,
    false,
    false,
  ])
})
