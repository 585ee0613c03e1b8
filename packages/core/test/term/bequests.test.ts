import { describe, expect, test } from 'vitest'
import { OptionsError } from '../../src/options/options-error.ts'
import { Bequests, comparableVersion } from '../../src/term/bequests.ts'

const fresh = (versions?: Readonly<Record<string, string>>) =>
  new Bequests({ values: new Map(), versions: versions && new Map(Object.entries(versions)) })
const left = (bequests: Bequests) => {
  const { epoch, values, versions } = bequests.leave(7n)
  return { epoch, values: Object.fromEntries(values), versions: Object.fromEntries(versions) }
}
const CALL = '`value` of `term.bequeath(value)`'

describe('What a term leaves', () => {
  test('are the last values of its controllers, as JSON, with its epoch', () => {
    const bequests = fresh()
    bequests.bequeath('a', { cursor: 1 })
    bequests.bequeath('b', null)
    bequests.bequeath('a', [1, 'two'])
    expect(bequests.isLeft).toBe(false)
    expect(left(bequests)).toEqual({ epoch: 7n, values: { a: '[1,"two"]', b: 'null' }, versions: { '*': '' } })
    expect(bequests.isLeft).toBe(true)
  })

  test('are the versions of earlier terms, and its own in their place', () => {
    const bequests = fresh({ pods: '5', jobs: '6' })
    bequests.noteVersion('pods', '4')
    expect(left(bequests).versions).toEqual({ pods: '4', jobs: '6' })
    expect(left(fresh({})).versions).toEqual({})
  })

  test('is the greatest version of each collection', () => {
    const bequests = fresh({})
    for (const version of ['9', '10', '8', '10']) bequests.noteVersion('pods', version)
    bequests.noteVersion('jobs', '3')
    expect(left(bequests).versions).toEqual({ pods: '10', jobs: '3' })
  })

  test.each([
    ['', '5'],
    ['5', ''],
    ['x', '5'],
    ['5', '07'],
  ])('is no version where one cannot be compared: %j, then %j', (first, second) => {
    const bequests = fresh({})
    for (const version of [first, second, '9']) bequests.noteVersion('pods', version)
    expect(left(bequests).versions).toEqual({ pods: '' })
  })
})

describe('A value that is bequeathed', () => {
  test.each([
    ['undefined', undefined],
    ['a function', () => {}],
    ['a date', new Date(0)],
    ['a member that JSON leaves out', { a: undefined }],
    ['a number that JSON does not know', Number.NaN],
  ])('must be the same when it is read again, which %s is not', (_, value) => {
    expect(() => fresh().bequeath('a', value)).toThrow(
      `Expected ${CALL} to be a JSON value, which is the same when it is read again, got \``,
    )
  })

  test('must have a JSON form', () => {
    const cause = new Error('no form')
    const value = {
      toJSON: () => {
        throw cause
      },
    }
    const bequeath = () => fresh().bequeath('a', value)
    expect(bequeath).toThrow(OptionsError)
    expect(bequeath).toThrow(
      new RegExp(`^Expected ${CALL.replaceAll(/[().]/g, String.raw`\$&`)} to be a JSON value, got `),
    )
    expect(bequeath).toThrow(expect.objectContaining({ cause }))
  })

  test('has at most 4096 bytes, by its characters in UTF-8', () => {
    const bequests = fresh()
    bequests.bequeath('a', 'x'.repeat(4094))
    bequests.bequeath('a', 'é'.repeat(2047))
    expect(() => bequests.bequeath('a', 'x'.repeat(4095))).toThrow(
      new OptionsError(`Expected ${CALL} to have at most 4096 bytes of JSON, got 4097 bytes`),
    )
    expect(() => bequests.bequeath('a', 'é'.repeat(2048))).toThrow('got 4098 bytes')
    expect(left(bequests).values).toEqual({ a: JSON.stringify('é'.repeat(2047)) })
  })

  test('has room beside those of the other controllers, in 32768 bytes', () => {
    const bequests = fresh()
    for (let index = 0; index < 7; index++) bequests.bequeath(`c${index}`, 'x'.repeat(4094))
    bequests.bequeath('last', 'x'.repeat(4094))
    bequests.bequeath('c0', 'y'.repeat(4094))
    expect(() => bequests.bequeath('more', 1)).toThrow(
      new OptionsError(
        `Expected the values of all controllers of a lease to have at most 32768 bytes of JSON, got 32769 bytes with ${CALL} of controller \`more\``,
      ),
    )
    expect(Object.keys(left(bequests).values)).toHaveLength(8)
  })
})

test('Versions can be compared that are decimal numbers without leading zeros', () => {
  expect(['1', '10', '9'.repeat(20)].map(comparableVersion)).toEqual([1n, 10n, BigInt('9'.repeat(20))])
  for (const version of ['', '0', '01', '-1', '1.5', '1a', 'a1', ' 1', '1 ', '9'.repeat(21)])
    expect(comparableVersion(version)).toBeUndefined()
})
