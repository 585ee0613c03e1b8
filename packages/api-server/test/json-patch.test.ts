import { describe, expect, it } from 'vitest'
import type { JsonValue } from '../src/objects/json-value.ts'
import { applyJsonPatch, JsonPatchError } from '../src/patches/json-patch.ts'
import { applyMergePatch } from '../src/patches/merge-patch.ts'

describe('a JSON patch', () => {
  it.each<[string, JsonValue, JsonValue, JsonValue]>([
    ['adds into a list', { a: [1, 3] }, [{ op: 'add', path: '/a/1', value: 2 }], { a: [1, 2, 3] }],
    ['adds to the end of a list', { a: [1] }, [{ op: 'add', path: '/a/-', value: 2 }], { a: [1, 2] }],
    ['removes from a list', { a: [1, 2] }, [{ op: 'remove', path: '/a/0' }], { a: [2] }],
    ['replaces in a list', { a: [1, 2] }, [{ op: 'replace', path: '/a/1', value: 3 }], { a: [1, 3] }],
    ['replaces the whole document', { a: 1 }, [{ op: 'replace', path: '', value: { b: 2 } }], { b: 2 }],
    ['moves', { a: { b: 1 } }, [{ op: 'move', from: '/a/b', path: '/c' }], { a: {}, c: 1 }],
    ['unescapes pointers', { 'a/b~c': 1 }, [{ op: 'replace', path: '/a~1b~0c', value: 2 }], { 'a/b~c': 2 }],
    ['tests deeply', { a: { b: [1] } }, [{ op: 'test', path: '/a', value: { b: [1] } }], { a: { b: [1] } }],
  ])('%s', (_what, document, patch, result) => {
    expect(applyJsonPatch(document, patch)).toEqual(result)
  })

  it('leaves the document that it is given as it is', () => {
    const document = { a: { b: 1 } }
    applyJsonPatch(document, [{ op: 'replace', path: '/a/b', value: 2 }])
    expect(document).toEqual({ a: { b: 1 } })
  })

  it.each<[string, JsonValue]>([
    ['an index beyond the end', [{ op: 'add', path: '/a/5', value: 1 }]],
    ['an index that is no number', [{ op: 'add', path: '/a/x', value: 1 }]],
    ['a parent that does not exist', [{ op: 'add', path: '/b/c', value: 1 }]],
  ])('does not apply with %s', (_what, patch) => {
    expect(() => applyJsonPatch({ a: [] }, patch)).toThrow(JsonPatchError)
  })

  it('does not reach the prototype of objects', () => {
    const result = applyJsonPatch({}, [{ op: 'add', path: '/__proto__', value: { polluted: true } }])
    expect(Object.getPrototypeOf(result)).toBe(Object.prototype)
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })
})

describe('a merge patch', () => {
  it.each<[JsonValue, JsonValue, JsonValue]>([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: 'foo' }, { b: { c: null } }, { a: 'foo', b: {} }],
    [['a'], ['c'], ['c']],
  ])('of %j by %j is %j, as in RFC 7396', (document, patch, result) => {
    expect(applyMergePatch(document, patch)).toEqual(result)
  })
})
