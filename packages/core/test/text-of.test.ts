import { inspect } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { errorOf, isA } from '../src/error-of.ts'
import { textOf } from '../src/text-of.ts'
import { HOSTILE_VALUES } from './support/hostile-values.ts'

describe('A value in a message', () => {
  test.each(Object.entries(HOSTILE_VALUES))('is a text, and an error that can be read, where it is %s', (_, make) => {
    const value = make()
    expect(textOf(value)).toBeTypeOf('string')
    expect(textOf(value)).not.toBe('')
    const { name, message, stack } = errorOf(make())
    expect([typeof name, typeof message, typeof stack]).toEqual(['string', 'string', 'string'])
    expect([true, false]).toContain(isA(value, Error))
  })

  test('is cut after a thousand characters', () => {
    expect(textOf('x'.repeat(1000))).toBe('x'.repeat(1000))
    expect(textOf('x'.repeat(1001))).toBe(`${'x'.repeat(1000)}…`)
  })

  test('is the messages of its errors where it is several errors without a message', () => {
    expect(textOf(new AggregateError([new Error('first'), 'second']))).toBe('first; second')
    expect(textOf(new AggregateError([]))).toBe('AggregateError')
  })

  test('says nothing of the errors of an error that is itself one of several', () => {
    const part = new AggregateError([new Error('first')])
    expect(textOf(new AggregateError([part, new Error('second')]))).toBe('AggregateError; second')
  })

  test('is the first line of the stack where an error has neither message nor name', () => {
    expect(textOf(Object.assign(new Error(''), { name: '', stack: 'boom\n    at first' }))).toBe('boom')
  })

  test('is cut after a thousand characters where it has many members', () => {
    const members = Array.from({ length: 20 }, (_, place) => [place, 'x'.repeat(150)])
    expect(textOf(Object.fromEntries(members))).toHaveLength(1000)
  })

  test('is cut after 200 characters where it is a text within another value', () => {
    expect(textOf({ code: 'x'.repeat(200) })).toBe(`{ code: '${'x'.repeat(200)}' }`)
    expect(textOf({ code: 'x'.repeat(205) })).toBe(`{ code: '${'x'.repeat(200)}'... 5 more characters }`)
  })

  test('is shown without a call of its getters and of the traps of a proxy', () => {
    const getter = Object.defineProperty({}, 'code', { enumerable: true, get: () => expect.fail('it was called') })
    expect(textOf(getter)).toBe('{ code: [Getter] }')
    // Node 26 says that it is a proxy.
    expect(textOf(new Proxy({ code: 7 }, {}))).toMatch(/^\{ code: 7 \}$|^Proxy\(\{ code: 7 \}\)$/)
  })

  test('is a text, and an error that can be read, whatever it is', () => {
    const anything = fc.anything({ withNullPrototype: true, withBigInt: true, withDate: true, withMap: true })
    fc.assert(
      fc.property(anything, (value) => {
        expect(textOf(value)).toBeTypeOf('string')
        expect(errorOf(value).message).toBeTypeOf('string')
      }),
    )
  })

  test('says what it holds, and the message of an error as it is', () => {
    expect(textOf(new Error('boom'))).toBe('boom')
    expect(textOf('boom')).toBe('boom')
    expect(textOf(new TypeError(''))).toBe('TypeError')
    expect(textOf(new AggregateError([new Error('a'), 'b']))).toBe('a; b')
    expect(textOf(Object.assign(Object.create(null), { message: 'boom' }))).toBe(
      "[Object: null prototype] { message: 'boom' }",
    )
    expect(textOf({ code: 7 })).toBe('{ code: 7 }')
    expect(textOf(new URL('http://a/'))).toBe('http://a/')
    expect(textOf([])).toBe('[]')
    expect(textOf([1, 2])).toBe('[ 1, 2 ]')
    expect(textOf(null)).toBe('null')
    expect(textOf('x'.repeat(5000)).length).toBeLessThan(1100)
  })

  test('has no type that its traps hide', () => {
    const hidden = new Proxy(new RangeError('boom'), {
      getPrototypeOf: () => {
        throw new Error('hidden')
      },
    })
    expect([isA(hidden, RangeError), isA(new RangeError('boom'), RangeError)]).toEqual([false, true])
  })

  test('calls no inspector of the value', () => {
    expect(textOf({ [inspect.custom]: () => expect.fail('it was called') })).toContain('inspect.custom')
  })

  test('stays the same error where it can be read, and is the cause of another where it cannot', () => {
    const error = new RangeError('boom')
    expect(errorOf(error)).toBe(error)
    const stackless = Object.assign(new Error('boom'), { stack: undefined })
    expect(errorOf(stackless)).toBe(stackless)
    const value = Object.create(null)
    expect(errorOf(value).cause).toBe(value)
  })
})
