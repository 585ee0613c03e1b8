import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startApiServerUnderTest, type ApiServerUnderTest } from './api-server-under-test.ts'
import { APPLY, MERGE_PATCH, type ApiAnswer, type ApiObject, type ContractClient } from './contract-client.ts'
import { configMap, configMapsPath, lease, leasesPath } from './sample-objects.ts'

let server: ApiServerUnderTest
let admin: ContractClient
let namespace: string
let name: string
let applied = 0

beforeAll(async () => {
  server = await startApiServerUnderTest()
  admin = server.admin
  namespace = await server.createNamespace()
})

afterAll(async () => server[Symbol.asyncDispose]())

beforeEach(() => {
  name = `applied-${(applied += 1)}`
})

function apply(manager: string, data: Readonly<Record<string, string>>, force = false): Promise<ApiAnswer> {
  const path = `${configMapsPath(namespace, name)}?fieldManager=${manager}${force ? '&force=true' : ''}`
  return admin.patch(path, APPLY, configMap(name, data))
}

/** The fields of each manager. */
function managers(object: ApiObject): Record<string, unknown> {
  const entries = object.metadata.managedFields ?? []
  return Object.fromEntries(
    entries.map((entry) => [`${String(entry['manager'])} ${String(entry['operation'])}`, entry['fieldsV1']]),
  )
}

describe('applying', () => {
  it('creates an object that does not exist, with 201', async () => {
    const { status, body } = await apply('one', { a: '1' })
    expect(status).toBe(201)
    expect(body.data).toEqual({ a: '1' })
    expect(managers(body)).toEqual({ 'one Apply': { 'f:data': { 'f:a': {} } } })
  })

  it('changes nothing when it is repeated', async () => {
    const { body: first } = await apply('one', { a: '1' })
    const { status, body: second } = await apply('one', { a: '1' })
    expect(status).toBe(200)
    expect(second).toEqual(first)
  })

  it('merges the fields of several managers', async () => {
    await apply('one', { a: '1' })
    const { status, body } = await apply('two', { b: '2' })
    expect(status).toBe(200)
    expect(body.data).toEqual({ a: '1', b: '2' })
    expect(managers(body)).toEqual({
      'one Apply': { 'f:data': { 'f:a': {} } },
      'two Apply': { 'f:data': { 'f:b': {} } },
    })
  })

  it('shares a field on whose value both agree', async () => {
    await apply('one', { a: '1' })
    const { status, body } = await apply('two', { a: '1' })
    expect(status).toBe(200)
    expect(managers(body)).toEqual({
      'one Apply': { 'f:data': { 'f:a': {} } },
      'two Apply': { 'f:data': { 'f:a': {} } },
    })
  })

  it('removes a field that its manager does not name any more', async () => {
    await apply('one', { a: '1', b: '2' })
    const { body } = await apply('one', { b: '2' })
    expect(body.data).toEqual({ b: '2' })
  })

  it('keeps a field that its manager does not name any more while another one does', async () => {
    await apply('one', { a: '1', b: '2' })
    await apply('two', { a: '1' })
    const { body } = await apply('one', { b: '2' })
    expect(body.data).toEqual({ a: '1', b: '2' })
    expect(managers(body)).toEqual({
      'one Apply': { 'f:data': { 'f:b': {} } },
      'two Apply': { 'f:data': { 'f:a': {} } },
    })
  })

  it('stores nothing on a dry run', async () => {
    const path = `${configMapsPath(namespace, name)}?fieldManager=one&dryRun=All`
    expect((await admin.patch(path, APPLY, configMap(name))).status).toBe(201)
    expect((await admin.get(configMapsPath(namespace, name))).status).toBe(404)
  })

  it('merges the sets and lists in the metadata', async () => {
    const path = (manager: string): string => `${configMapsPath(namespace, name)}?fieldManager=${manager}`
    const withFinalizers = (...finalizers: string[]): unknown => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: finalizers.length === 0 ? { name } : { name, finalizers },
    })
    await admin.patch(path('one'), APPLY, withFinalizers('a.b/one'))
    const both = await admin.patch(path('two'), APPLY, withFinalizers('a.b/two'))
    expect(both.body.metadata.finalizers).toEqual(['a.b/one', 'a.b/two'])
    const left = await admin.patch(path('one'), APPLY, withFinalizers())
    expect(left.body.metadata.finalizers).toEqual(['a.b/two'])
  })
})

describe('a conflict', () => {
  it('is answered with 409 that names the manager and the field', async () => {
    await apply('one', { a: '1', b: '2' })
    const { status, body } = await apply('two', { a: '9' })
    expect(status).toBe(409)
    expect(body).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'Apply failed with 1 conflict: conflict with "one": .data.a',
      reason: 'Conflict',
      details: { causes: [{ reason: 'FieldManagerConflict', message: 'conflict with "one"', field: '.data.a' }] },
      code: 409,
    })
  })

  it('lists all fields', async () => {
    await apply('one', { a: '1', b: '2' })
    const { body } = await apply('two', { a: '9', b: '9' })
    expect(body.message).toBe('Apply failed with 2 conflicts: conflicts with "one":\n- .data.a\n- .data.b')
  })

  it('is met with those who update as well', async () => {
    await admin.post(configMapsPath(namespace), configMap(name, { a: '1' }))
    const { status, body } = await apply('two', { a: '9' })
    expect(status).toBe(409)
    expect(body.message).toMatch(
      /^Apply failed with 1 conflict: conflict with "contract-suite" using v1( at .*)?: \.data\.a$/,
    )
  })

  it('is overridden by force, which takes the field away', async () => {
    await apply('one', { a: '1', b: '2' })
    const { status, body } = await apply('two', { a: '9' }, true)
    expect(status).toBe(200)
    expect(body.data).toEqual({ a: '9', b: '2' })
    expect(managers(body)).toEqual({
      'one Apply': { 'f:data': { 'f:b': {} } },
      'two Apply': { 'f:data': { 'f:a': {} } },
    })
  })

  it('keeps a second holder from a lease', async () => {
    const path = (manager: string): string => `${leasesPath(namespace, name)}?fieldManager=${manager}`
    const body = (holderIdentity: string): unknown => lease(name, { holderIdentity })
    expect((await admin.patch(path('a'), APPLY, body('a'))).status).toBe(201)
    const answer = await admin.patch(path('b'), APPLY, body('b'))
    expect(answer.status).toBe(409)
    expect(answer.body.message).toBe('Apply failed with 1 conflict: conflict with "a": .spec.holderIdentity')
  })
})

describe('a configuration', () => {
  it('needs a field manager', async () => {
    const { status, body } = await admin.patch(configMapsPath(namespace, name), APPLY, configMap(name))
    expect(status).toBe(422)
    expect(body.message).toBe(
      'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
    )
  })

  it('must not carry managedFields', async () => {
    const { body: present } = await apply('one', { a: '1' })
    const path = `${configMapsPath(namespace, name)}?fieldManager=one`
    const { status, body } = await admin.patch(path, APPLY, {
      ...present,
      metadata: { ...present.metadata, resourceVersion: undefined },
    })
    expect(status).toBe(400)
    expect(body.message).toBe('metadata.managedFields must be nil')
  })

  it('must be of the kind', async () => {
    const path = `${configMapsPath(namespace, name)}?fieldManager=one`
    const { status, body } = await admin.patch(path, APPLY, lease(name))
    expect(status).toBe(400)
    expect(body.message).toBe('invalid object type: coordination.k8s.io/v1, Kind=Lease')
  })

  it('must not have fields that the kind does not have', async () => {
    const path = `${configMapsPath(namespace, name)}?fieldManager=one`
    const { status, body } = await admin.patch(path, APPLY, { ...configMap(name), frob: 1 })
    expect(status).toBe(500)
    expect(body.message).toContain('.frob: field not declared in schema')
  })

  it('is answered with 409 when it names another resourceVersion than the stored one', async () => {
    await apply('one', { a: '1' })
    const path = `${configMapsPath(namespace, name)}?fieldManager=one`
    const { status } = await admin.patch(path, APPLY, {
      ...configMap(name, { a: '2' }),
      metadata: { name, resourceVersion: '1' },
    })
    expect(status).toBe(409)
  })
})

describe('managedFields', () => {
  it('name the writer by its user agent or by fieldManager', async () => {
    const { body } = await admin.post(configMapsPath(namespace), configMap(name, { a: '1' }))
    await admin.send('PUT', configMapsPath(namespace, name), {
      body: { ...body, data: { a: '1', b: '2' } },
      userAgent: 'second/2.0 (test)',
    })
    const third = await admin.patch(`${configMapsPath(namespace, name)}?fieldManager=third`, MERGE_PATCH, {
      data: { c: '3' },
    })
    expect(managers(third.body)).toEqual({
      'contract-suite Update': { 'f:data': { '.': {}, 'f:a': {} } },
      'second Update': { 'f:data': { 'f:b': {} } },
      'third Update': { 'f:data': { 'f:c': {} } },
    })
  })

  it('give a field to the last who changed it', async () => {
    await admin.post(configMapsPath(namespace), configMap(name, { a: '1', b: '2' }))
    const { body } = await admin.patch(`${configMapsPath(namespace, name)}?fieldManager=second`, MERGE_PATCH, {
      data: { a: '9' },
    })
    expect(managers(body)).toEqual({
      'contract-suite Update': { 'f:data': { '.': {}, 'f:b': {} } },
      'second Update': { 'f:data': { 'f:a': {} } },
    })
  })

  it('are given up by an empty entry, and then belong to the manager before the first application', async () => {
    await admin.post(configMapsPath(namespace), configMap(name, { a: '1' }))
    const reset = await admin.patch(configMapsPath(namespace, name), MERGE_PATCH, { metadata: { managedFields: [{}] } })
    expect(reset.body.metadata.managedFields).toBeUndefined()
    const { body } = await apply('one', { a: '1' })
    expect(managers(body)).toEqual({
      'one Apply': { 'f:data': { 'f:a': {} } },
      'before-first-apply Update': { 'f:data': { '.': {}, 'f:a': {} } },
    })
  })
})
