import { array, assert, constantFrom, dictionary, oneof, property, record, string } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createStamp, stampBody } from '../src/gate/epoch-stamp.ts'

const ANNOTATIONS = { 'tenure.dev/epoch': '42', 'tenure.dev/lease': 'jani"tor' }
const stamp = createStamp(ANNOTATIONS)
const stamped = (body: string, method = 'PUT') =>
  stampBody({ method, headers: { 'Content-Type': 'application/json' }, body }, stamp)?.body

/** What comes of stamping, computed on the object instead of on its text. */
function expected(object: { readonly metadata?: { readonly annotations?: object } }): unknown {
  const { metadata = {} } = object
  return { ...object, metadata: { ...metadata, annotations: { ...metadata.annotations, ...ANNOTATIONS } } }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

describe('a stamp', () => {
  // No backslashes: JSON.parse() of Node 24 reads the key `"` as `\\` once it has read that one in an object of the same shape.
  const names = oneof(
    string().filter((name) => !name.includes('\\')),
    constantFrom('metadata', 'annotations', ...Object.keys(ANNOTATIONS), '"', '{'),
  )
  const values = dictionary(names, oneof(string(), names, dictionary(names, array(string()))))
  const annotations = dictionary(names, string())
  const objects = record(
    {
      data: values,
      labels: dictionary(names, string()),
      metadata: record({ name: string(), labels: values, annotations }, { requiredKeys: [] }),
    },
    { requiredKeys: [] },
  )

  test('is put into any object, and changes nothing else of it', () => {
    assert(
      property(objects, (arbitrary) => {
        const body = JSON.stringify(arbitrary)
        const object = JSON.parse(body) as object
        expect(JSON.parse(stamped(body) ?? '')).toEqual(expected(object))
      }),
      { numRuns: 2000 },
    )
  })

  test('is put into any text that means an object, with whitespace, escapes, or a key that is there twice', () => {
    const texts = objects.chain((arbitrary) => {
      const text = JSON.stringify(arbitrary)
      return oneof(
        constantFrom(JSON.stringify(arbitrary, undefined, 2)),
        constantFrom(text.replaceAll('"metadata"', '"metad\\u0061ta"'), text.replaceAll('annot', '\\u0061nnot')),
        objects.map((other) => `${text.slice(0, -1)}${text === '{}' ? '' : ','}${JSON.stringify(other).slice(1)}`),
      )
    })
    assert(
      property(texts.filter(isJson), (text) => {
        expect(JSON.parse(stamped(text) ?? '')).toEqual(expected(JSON.parse(text) as object))
      }),
      { numRuns: 2000 },
    )
  })

  test.each([
    ['{}', expected({})],
    ['{"metadata":{}}', expected({})],
    ['{ "metadata": { "annotations": { "a": "b" } } }', expected({ metadata: { annotations: { a: 'b' } } })],
    [
      JSON.stringify(expected({ metadata: { annotations: { a: '\\"' } } })),
      expected({ metadata: { annotations: { a: '\\"' } } }),
    ],
    [
      '{"spec":{"metadata":{"annotations":{}}},"text":"\\"metadata\\":{\\\\"}',
      expected({ spec: { metadata: { annotations: {} } }, text: '"metadata":{\\' } as object),
    ],
  ])('is put into %s', (body, object) => {
    expect(JSON.parse(stamped(body) ?? '')).toEqual(object)
  })

  test.each(['', 'null', '7', '"text"', '[]', '{', '{"metadata":', 'kind: ConfigMap', '{"metadata":null}'])(
    'is not put into %j',
    (body) => {
      expect(stamped(body)).toBeUndefined()
    },
  )

  test('is not put into the options of a deletion', () => {
    expect(stamped('{}', 'DELETE')).toBeUndefined()
  })
})
