import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  describePath,
  difference,
  EMPTY_FIELD_SET,
  formatFieldSet,
  intersection,
  isEmpty,
  parseFieldSet,
  pathsOf,
  setOfPaths,
  union,
  type FieldSet,
} from '../src/patches/field-set.ts'

const element = fc.constantFrom('f:a', 'f:b', 'k:{"name":"x"}', 'v:"y"')
const paths = fc.array(fc.array(element, { minLength: 1, maxLength: 3 }), { maxLength: 6 })
const sets = paths.map(setOfPaths)

function pathTexts(set: FieldSet): string[] {
  return pathsOf(set).map((path) => path.join(' '))
}

describe('field sets', () => {
  it('hold exactly the paths that they were made of', () => {
    fc.assert(
      fc.property(paths, (given) => {
        const expected = [...new Set(given.map((path) => path.join(' ')))]
        expect(pathTexts(setOfPaths(given)).toSorted()).toEqual(expected.toSorted())
      }),
    )
  })

  it('are the same after they were written and read', () => {
    fc.assert(
      fc.property(sets, (set) => {
        expect(pathTexts(parseFieldSet(formatFieldSet(set))).toSorted()).toEqual(pathTexts(set).toSorted())
      }),
    )
  })

  it('follow the laws of sets', () => {
    fc.assert(
      fc.property(sets, sets, (left, right) => {
        const [a, b] = [new Set(pathTexts(left)), new Set(pathTexts(right))]
        expect(new Set(pathTexts(union(left, right)))).toEqual(new Set([...a, ...b]))
        expect(new Set(pathTexts(intersection(left, right)))).toEqual(new Set([...a].filter((path) => b.has(path))))
        expect(new Set(pathTexts(difference(left, right)))).toEqual(new Set([...a].filter((path) => !b.has(path))))
        expect(isEmpty(difference(left, left))).toBe(true)
      }),
    )
  })

  it('are empty without paths', () => {
    expect(isEmpty(EMPTY_FIELD_SET)).toBe(true)
    expect(isEmpty(setOfPaths([['f:a']]))).toBe(false)
  })

  it('write a member with members below it with a dot', () => {
    const set = setOfPaths([['f:labels'], ['f:labels', 'f:app']])
    expect(formatFieldSet(set)).toEqual({ 'f:labels': { '.': {}, 'f:app': {} } })
  })

  it('describe paths as messages have them', () => {
    expect(describePath(['f:spec', 'f:containers', 'k:{"name":"x"}', 'f:image'])).toBe(
      '.spec.containers[name="x"].image',
    )
    expect(describePath(['f:metadata', 'f:finalizers', 'v:"a.b/c"'])).toBe('.metadata.finalizers[="a.b/c"]')
  })
})
