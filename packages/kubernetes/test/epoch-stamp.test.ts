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

  test.each(['', 'null', '7', '"text"', '"}"', '[]', '{', '{"metadata":', 'kind: ConfigMap', '{"metadata":null}'])(
    'is not put into %j',
    (body) => {
      expect(stamped(body)).toBeUndefined()
    },
  )

  test('is not put into the options of a deletion', () => {
    expect(stamped('{}', 'DELETE')).toBeUndefined()
  })
})

describe('a stamp on a JSON patch', () => {
  const slashed = createStamp({ 'a~/b': '1' })
  const patched = (type: string, method = 'PATCH', header = 'Content-Type', body = '[{"op":"test"}]') =>
    stampBody({ method, headers: { accept: 'x', [header]: type }, body }, slashed)

  test('is added to the annotations, or is all of them', () => {
    const stampedPatch = patched('application/json-patch+json; charset=utf-8', 'PATCH', 'cOnTeNt-TyPe')
    expect(JSON.parse(stampedPatch?.body ?? '')).toEqual([
      { op: 'test' },
      { op: 'add', path: '/metadata/annotations/a~0~1b', value: '1' },
    ])
    expect(JSON.parse(stampedPatch?.otherwise ?? '')).toEqual([
      { op: 'test', path: '/metadata/annotations', value: null },
      { op: 'add', path: '/metadata/annotations', value: { 'a~/b': '1' } },
      { op: 'test' },
    ])
  })

  test.each([
    ['application/json', 'PATCH', 'Content-Type'],
    ['x application/json-patch+json', 'PATCH', 'Content-Type'],
    ['application/json-patch+json', 'PUT', 'Content-Type'],
    ['application/json-patch+json', 'PATCH', 'Accepts'],
  ])('is not put into a list of type %s that is sent by %s with the header %s', (type, method, header) => {
    expect(patched(type, method, header)).toBeUndefined()
  })
})

test('a body without a second form has none, and a body without text is left alone', () => {
  expect(stampBody({ method: 'PUT', headers: {}, body: '{ }' }, stamp)).not.toHaveProperty('otherwise')
  expect(stampBody({ method: 'PUT', headers: {}, body: undefined }, stamp)).toBeUndefined()
  expect(stampBody({ method: 'PUT', headers: {}, body: Buffer.from('{}') }, stamp)).toBeUndefined()
})

test.each(['{"metadata": null}', '{"metadata":{"annotations":null}}', '{"metadata": {"annotations": null}}'])(
  'a merge patch that removes all annotations, such as %s, gets no stamp',
  (body) => {
    expect(stamped(body, 'PATCH')).toBeUndefined()
  },
)

test.each([
  ['{"metadata":7}', { metadata: { annotations: ANNOTATIONS } }],
  ['{"metadata":{"annotations":7}}', { metadata: { annotations: ANNOTATIONS } }],
  ['{"metadata":[],"a":1}', { a: 1, metadata: { annotations: ANNOTATIONS } }],
])('what is no object in %s is replaced', (body, object) => {
  expect(JSON.parse(stamped(body) ?? '')).toEqual(object)
})

test.each([
  ['{"a":1}', '{"metadata":{"annotations":{"k":"v"}},"a":1}'],
  ['{"metadata":{"name":"x"}}', '{"metadata":{"annotations":{"k":"v"},"name":"x"}}'],
  ['{"metadata":{"annotations":{"a":"b"}}}', '{"metadata":{"annotations":{"k":"v","a":"b"}}}'],
  ['{"metadata":{"annotations":{"k":"w","a":"b"}}}', '{"metadata":{"annotations":{"k":"v","a":"b"}}}'],
])('a stamp changes the text of %s in one place', (body, text) => {
  expect(stampBody({ method: 'PUT', headers: {}, body }, createStamp({ k: 'v' }))).toEqual({ body: text })
})
