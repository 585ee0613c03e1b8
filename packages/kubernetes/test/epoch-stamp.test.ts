import { anything, assert, dictionary, property, record, string } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createStamp, stampBody } from '../src/gate/epoch-stamp.ts'

const ANNOTATIONS = { 'tenure.dev/epoch': '42', 'tenure.dev/lease': 'jani"tor' }
const stamp = createStamp(ANNOTATIONS)
const stamped = (body: string, method = 'PUT') =>
  stampBody({ method, contentType: 'application/json', body }, stamp)?.body

/** What comes of stamping, computed on the object instead of on its text. */
function expected(object: { readonly metadata?: { readonly annotations?: object } }): unknown {
  const { metadata = {} } = object
  return { ...object, metadata: { ...metadata, annotations: { ...metadata.annotations, ...ANNOTATIONS } } }
}

describe('a stamp', () => {
  test('is put into any object, and changes nothing else of it', () => {
    const annotations = dictionary(string(), string())
    const objects = record(
      { data: anything(), metadata: record({ name: string(), labels: anything(), annotations }, { requiredKeys: [] }) },
      { requiredKeys: [] },
    )
    assert(
      property(objects, (arbitrary) => {
        const body = JSON.stringify(arbitrary)
        const object = JSON.parse(body) as object
        expect(JSON.parse(stamped(body) ?? '')).toEqual(expected(object))
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
