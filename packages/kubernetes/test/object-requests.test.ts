import { describe, expect, test } from 'vitest'
import { describeTarget, isWrite, pathWithQuery } from '../src/client/api-request.ts'
import { nameOf, parseDecimal, parseVersion } from '../src/client/object-metadata.ts'
import {
  createObject,
  deleteObject,
  getObject,
  listObjects,
  target,
  updateObject,
  watchObjects,
} from '../src/client/object-requests.ts'
import { collectionPath, objectPath } from '../src/client/resource.ts'
import { integerAt, isJsonObject, objectAt, stringAt } from '../src/json-object.ts'

const { signal } = new AbortController()
const leases = { group: 'coordination.k8s.io', version: 'v1', resource: 'leases', namespace: 'ops' }
const lease = { ...leases, name: 'janitor' }
const nodes = { group: '', version: 'v1', resource: 'nodes', namespace: '' }
const COLLECTION = '/apis/coordination.k8s.io/v1/namespaces/ops/leases'
const targetOf = (verb: string, name = 'janitor') => ({
  verb,
  group: 'coordination.k8s.io',
  resource: 'leases',
  namespace: 'ops',
  name,
})

test('a path has the group, unless it is the core group, and the namespace, unless the object is of the cluster', () => {
  expect(collectionPath(leases)).toBe(COLLECTION)
  expect(objectPath(lease)).toBe(`${COLLECTION}/janitor`)
  expect(collectionPath(nodes)).toBe('/api/v1/nodes')
  expect(collectionPath({ ...nodes, namespace: 'ops' })).toBe('/api/v1/namespaces/ops/nodes')
  expect(collectionPath({ ...leases, namespace: '' })).toBe('/apis/coordination.k8s.io/v1/leases')
})

describe('a request', () => {
  const body = { metadata: {} }

  test('reads, creates, replaces or deletes one object', () => {
    const path = `${COLLECTION}/janitor`
    expect(getObject(lease, signal)).toEqual({ method: 'GET', path, target: targetOf('get'), signal })
    expect(createObject(lease, body, signal)).toEqual({
      method: 'POST',
      path: COLLECTION,
      body,
      target: targetOf('create'),
      signal,
    })
    expect(updateObject(lease, body, signal)).toEqual({ method: 'PUT', path, body, target: targetOf('update'), signal })
    const preconditions = { uid: 'u', resourceVersion: '7' }
    expect(deleteObject(lease, preconditions, signal)).toEqual({
      method: 'DELETE',
      path,
      body: { preconditions },
      target: targetOf('delete'),
      signal,
    })
  })

  test.each([
    [{}, {}, ''],
    [{ name: 'janitor' }, { fieldSelector: 'metadata.name=janitor' }, 'janitor'],
    [{ labelSelector: 'app=web' }, { labelSelector: 'app=web' }, ''],
    [
      { name: 'janitor', labelSelector: 'app=web' },
      { fieldSelector: 'metadata.name=janitor', labelSelector: 'app=web' },
      'janitor',
    ],
  ])('lists or watches what a selection selects: %j', (selection, query, name) => {
    expect(listObjects({ ...leases, ...selection }, signal)).toEqual({
      method: 'GET',
      path: COLLECTION,
      query,
      target: targetOf('list', name),
      signal,
    })
    const watch = { watch: 'true', allowWatchBookmarks: 'true', resourceVersion: '7', timeoutSeconds: '360' }
    expect(watchObjects({ ...leases, ...selection }, { version: '7', spread: 0.5 }, signal)).toEqual({
      method: 'GET',
      path: COLLECTION,
      query: {
        ...query,
        ...watch,
      },
      target: targetOf('watch', name),
      signal,
    })
  })

  test.each([
    [0, '240'],
    [0.999, '479'],
  ])('for a watch asks for 4 to 8 minutes: spread %d', (spread, timeoutSeconds) => {
    expect(watchObjects(leases, { version: '7', spread }, signal).query).toMatchObject({ timeoutSeconds })
  })

  test('is described by its verb, its resource and its place', () => {
    expect(describeTarget(target('update', lease))).toBe('update leases.coordination.k8s.io ops/janitor')
    expect(describeTarget(target('list', leases))).toBe('list leases.coordination.k8s.io in namespace ops')
    expect(describeTarget(target('get', { ...nodes, name: 'n1' }))).toBe('get nodes n1')
    expect(describeTarget(target('list', nodes))).toBe('list nodes in all namespaces')
  })

  test('has its parameters in the query string, and is a write unless it gets', () => {
    expect(pathWithQuery({ path: '/x' })).toBe('/x')
    expect(pathWithQuery({ path: '/x', query: {} })).toBe('/x')
    expect(pathWithQuery({ path: '/x', query: { a: 'b c', d: 'e=f' } })).toBe('/x?a=b+c&d=e%3Df')
    const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
    expect(methods.map((method) => isWrite({ method }))).toEqual([false, true, true, true, true])
  })
})

describe('what an object says of itself', () => {
  test.each([
    ['0', 0n],
    ['7', 7n],
    ['1234567890123456789012345678901', 1234567890123456789012345678901n],
    ['12345678901234567890123456789012', undefined],
    ['', undefined],
    ['07', undefined],
    ['-1', undefined],
    ['7x', undefined],
    ['x7', undefined],
    ['1.5', undefined],
  ])('is a version if that is a decimal number: `%s`', (resourceVersion, expected) => {
    expect(parseDecimal(resourceVersion)).toBe(expected)
    expect(parseVersion({ metadata: { resourceVersion } })).toBe(expected)
  })

  test.each([undefined, null, 'x', {}, { metadata: 'x' }, { metadata: { resourceVersion: 7, name: 7 } }])(
    'is nothing if it is not there: %j',
    (object) => {
      expect([parseVersion(object), nameOf(object)]).toEqual([undefined, undefined])
    },
  )

  test('is its name', () => {
    expect(nameOf({ metadata: { name: 'janitor' } })).toBe('janitor')
  })
})

test('fields of JSON count only with the type that they must have', () => {
  expect([{}, [], null, 'x', undefined].map(isJsonObject)).toEqual([true, false, false, false, false])
  const object = { text: 'x', number: 7, fraction: 1.5, object: { a: 1 }, list: [] }
  expect([stringAt(object, 'text'), stringAt(object, 'number'), stringAt(object, 'none')]).toEqual([
    'x',
    undefined,
    undefined,
  ])
  expect([integerAt(object, 'number'), integerAt(object, 'fraction'), integerAt(object, 'text')]).toEqual([
    7,
    undefined,
    undefined,
  ])
  expect([objectAt(object, 'object'), objectAt(object, 'list'), objectAt(object, 'none')]).toEqual([{ a: 1 }, {}, {}])
})
