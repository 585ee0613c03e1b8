import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApiServerUnderTest, type ApiServerUnderTest } from './api-server-under-test.ts'
import { MERGE_PATCH, type ContractClient } from './contract-client.ts'
import { configMap, configMapsPath, lease, leasesPath } from './sample-objects.ts'

let server: ApiServerUnderTest
let admin: ContractClient
let namespace: string

beforeAll(async () => {
  server = await startApiServerUnderTest()
  admin = server.admin
  namespace = await server.createNamespace()
})

afterAll(async () => server[Symbol.asyncDispose]())

const LEASE_DETAILS = { group: 'coordination.k8s.io', kind: 'leases' }
const OUTDATED = 'the object has been modified; please apply your changes to the latest version and try again'

describe('creating an object', () => {
  it('answers 201 with the metadata that the server decides', async () => {
    const { status, body } = await admin.post(leasesPath(namespace), lease('created', { holderIdentity: 'a' }))
    expect(status).toBe(201)
    expect(body).toEqual({
      kind: 'Lease',
      apiVersion: 'coordination.k8s.io/v1',
      metadata: {
        name: 'created',
        namespace,
        uid: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
        resourceVersion: expect.stringMatching(/^[1-9]\d*$/) as string,
        creationTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/) as string,
        managedFields: [
          {
            manager: 'contract-suite',
            operation: 'Update',
            apiVersion: 'coordination.k8s.io/v1',
            time: expect.any(String) as string,
            fieldsType: 'FieldsV1',
            fieldsV1: { 'f:spec': { 'f:holderIdentity': {} } },
          },
        ],
      },
      spec: { holderIdentity: 'a' },
    })
  })

  it('answers 409 AlreadyExists when the name is taken', async () => {
    await admin.post(leasesPath(namespace), lease('taken'))
    const { status, body } = await admin.post(leasesPath(namespace), lease('taken'))
    expect(status).toBe(409)
    expect(body).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'leases.coordination.k8s.io "taken" already exists',
      reason: 'AlreadyExists',
      details: { name: 'taken', ...LEASE_DETAILS },
      code: 409,
    })
  })

  it('answers 404 when the namespace does not exist', async () => {
    const { status, body } = await admin.post(leasesPath('nowhere'), lease('lost'))
    expect(status).toBe(404)
    expect(body).toMatchObject({
      reason: 'NotFound',
      message: 'namespaces "nowhere" not found',
      details: { name: 'nowhere', kind: 'namespaces' },
    })
  })

  it('refuses a resourceVersion', async () => {
    const { status, body } = await admin.post(leasesPath(namespace), { metadata: { name: 'v', resourceVersion: '7' } })
    expect(status).toBe(500)
    expect(body.message).toBe('resourceVersion should not be set on objects to be created')
  })

  it('appends five random characters to generateName', async () => {
    const answers = await Promise.all(
      [1, 2].map(() => admin.post(leasesPath(namespace), { metadata: { generateName: 'made-' } })),
    )
    const names = answers.map(({ body }) => body.metadata.name)
    expect(names).toEqual([expect.stringMatching(/^made-[a-z0-9]{5}$/), expect.stringMatching(/^made-[a-z0-9]{5}$/)])
    expect(new Set(names).size).toBe(2)
  })

  it('stores nothing on a dry run, and answers as if it had', async () => {
    const { status, body } = await admin.post(`${leasesPath(namespace)}?dryRun=All`, lease('dry'))
    expect(status).toBe(201)
    expect(body.metadata.uid).toMatch(/./)
    expect(body.metadata.resourceVersion).toBeUndefined()
    expect((await admin.get(leasesPath(namespace, 'dry'))).status).toBe(404)
  })
})

describe('reading an object', () => {
  it('answers with the stored object', async () => {
    const created = await admin.post(leasesPath(namespace), lease('read', { leaseTransitions: 0 }))
    const { status, body } = await admin.get(leasesPath(namespace, 'read'))
    expect(status).toBe(200)
    expect(body).toEqual(created.body)
  })

  it('answers 404 when it does not exist', async () => {
    const { status, body } = await admin.get(leasesPath(namespace, 'absent'))
    expect(status).toBe(404)
    expect(body).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'leases.coordination.k8s.io "absent" not found',
      reason: 'NotFound',
      details: { name: 'absent', ...LEASE_DETAILS },
      code: 404,
    })
  })

  it.each(['/apis/coordination.k8s.io/v1/frobs', '/api/v1/frobs'])('answers 404 with a Status for %s', async (path) => {
    const { status, body } = await admin.get(path)
    expect(status).toBe(404)
    expect(body).toMatchObject({ message: 'the server could not find the requested resource', details: {} })
  })

  it('answers 404 in plain text for a group that does not exist', async () => {
    const { status, text } = await admin.get('/apis/nothing.example.com/v1/frobs')
    expect({ status, text }).toEqual({ status: 404, text: '404 page not found\n' })
  })
})

describe('updating an object', () => {
  it('gives it a greater resourceVersion and keeps what the client may not change', async () => {
    const { body: before } = await admin.post(leasesPath(namespace), lease('updated', { holderIdentity: 'a' }))
    const { status, body: after } = await admin.put(leasesPath(namespace, 'updated'), {
      ...before,
      metadata: { ...before.metadata, creationTimestamp: '2001-01-01T00:00:00Z', labels: { l: 'x' } },
      spec: { holderIdentity: 'b' },
    })
    expect(status).toBe(200)
    expect(BigInt(after.metadata.resourceVersion)).toBeGreaterThan(BigInt(before.metadata.resourceVersion))
    expect(after.metadata).toMatchObject({
      uid: before.metadata.uid,
      creationTimestamp: before.metadata.creationTimestamp,
      labels: { l: 'x' },
    })
    expect(after.spec).toEqual({ holderIdentity: 'b' })
  })

  it('answers 409 Conflict when the object changed since', async () => {
    const { body: before } = await admin.post(leasesPath(namespace), lease('raced'))
    await admin.put(leasesPath(namespace, 'raced'), { ...before, spec: { holderIdentity: 'first' } })
    const { status, body } = await admin.put(leasesPath(namespace, 'raced'), {
      ...before,
      spec: { holderIdentity: 'second' },
    })
    expect(status).toBe(409)
    expect(body).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: `Operation cannot be fulfilled on leases.coordination.k8s.io "raced": ${OUTDATED}`,
      reason: 'Conflict',
      details: { name: 'raced', ...LEASE_DETAILS },
      code: 409,
    })
    expect((await admin.get(leasesPath(namespace, 'raced'))).body.spec).toEqual({ holderIdentity: 'first' })
  })

  it('lets exactly one of many writers win who start from the same version', async () => {
    const { body: before } = await admin.post(leasesPath(namespace), lease('contended'))
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        admin.put(leasesPath(namespace, 'contended'), { ...before, spec: { holderIdentity: `w${index}` } }),
      ),
    )
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    expect(statuses.filter((status) => status === 409)).toHaveLength(9)
  })

  it('changes nothing when nothing is different', async () => {
    const { body: before } = await admin.post(leasesPath(namespace), lease('same', { holderIdentity: 'a' }))
    const { status, body } = await admin.put(leasesPath(namespace, 'same'), before)
    expect(status).toBe(200)
    expect(body).toEqual(before)
  })

  it('needs a resourceVersion for a lease', async () => {
    await admin.post(leasesPath(namespace), lease('blind'))
    const { status, body } = await admin.put(leasesPath(namespace, 'blind'), lease('blind', { holderIdentity: 'b' }))
    expect(status).toBe(422)
    expect(body).toMatchObject({
      reason: 'Invalid',
      message:
        'leases.coordination.k8s.io "blind" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update',
    })
  })

  it('needs no resourceVersion for a config map', async () => {
    await admin.post(configMapsPath(namespace), configMap('blind', { a: '1' }))
    const { status, body } = await admin.put(configMapsPath(namespace, 'blind'), configMap('blind', { a: '2' }))
    expect(status).toBe(200)
    expect(body.data).toEqual({ a: '2' })
  })

  it('creates a lease that does not exist', async () => {
    const { status, body } = await admin.put(leasesPath(namespace, 'put'), lease('put', { holderIdentity: 'a' }))
    expect(status).toBe(201)
    expect(body.metadata.name).toBe('put')
  })

  it('does not create a config map that does not exist', async () => {
    const { status, body } = await admin.put(configMapsPath(namespace, 'put'), configMap('put'))
    expect(status).toBe(404)
    expect(body.message).toBe('configmaps "put" not found')
  })

  it('answers 409 for the uid of another object', async () => {
    const { body: before } = await admin.post(leasesPath(namespace), lease('identity'))
    const { status, body } = await admin.put(leasesPath(namespace, 'identity'), {
      ...before,
      metadata: { ...before.metadata, uid: 'somebody-else' },
    })
    expect(status).toBe(409)
    expect(body.message).toBe(
      'Operation cannot be fulfilled on leases.coordination.k8s.io "identity": StorageError: invalid object, Code: 4, ' +
        `Key: /registry/leases/${namespace}/identity, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ` +
        `UID in precondition: somebody-else, UID in object meta: ${before.metadata.uid}`,
    )
  })

  it.each([
    ['name', { name: 'other' }, 'the name of the object (other) does not match the name on the URL (placed)'],
    [
      'namespace',
      { namespace: 'default' },
      'the namespace of the provided object does not match the namespace sent on the request',
    ],
  ])('answers 400 for another %s than in the path', async (_field, metadata, message) => {
    const { status, body } = await admin.put(leasesPath(namespace, 'placed'), {
      metadata: { name: 'placed', ...metadata },
    })
    expect(status).toBe(400)
    expect(body).toMatchObject({ reason: 'BadRequest', message })
  })
})

describe('deleting an object', () => {
  it('answers 200 with a Status that names it', async () => {
    const { body: before } = await admin.post(leasesPath(namespace), lease('gone'))
    const { status, body } = await admin.delete(leasesPath(namespace, 'gone'))
    expect(status).toBe(200)
    expect(body).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Success',
      details: { name: 'gone', ...LEASE_DETAILS, uid: before.metadata.uid },
    })
    expect((await admin.delete(leasesPath(namespace, 'gone'))).status).toBe(404)
  })

  it('gives an object that is created again another uid and a greater version', async () => {
    const { body: before } = await admin.post(leasesPath(namespace), lease('reborn'))
    await admin.delete(leasesPath(namespace, 'reborn'))
    const { body: after } = await admin.post(leasesPath(namespace), lease('reborn'))
    expect(after.metadata.uid).not.toBe(before.metadata.uid)
    expect(BigInt(after.metadata.resourceVersion)).toBeGreaterThan(BigInt(before.metadata.resourceVersion) + 1n)
  })

  it.each([
    ['uid', 'somebody-else'],
    ['resourceVersion', '1'],
  ])('answers 409 when the precondition on %s does not hold', async (field, value) => {
    const name = `guarded-${field.toLowerCase()}`
    await admin.post(leasesPath(namespace), lease(name))
    const { status, body } = await admin.delete(leasesPath(namespace, name), { preconditions: { [field]: value } })
    expect(status).toBe(409)
    expect(body).toMatchObject({ reason: 'Conflict', details: { name, group: 'coordination.k8s.io', kind: 'Lease' } })
    expect((await admin.get(leasesPath(namespace, name))).status).toBe(200)
  })

  it('deletes when the preconditions hold', async () => {
    const { body } = await admin.post(leasesPath(namespace), lease('checked'))
    const { uid, resourceVersion } = body.metadata
    const answer = await admin.delete(leasesPath(namespace, 'checked'), { preconditions: { uid, resourceVersion } })
    expect(answer.status).toBe(200)
  })

  it('deletes nothing on a dry run', async () => {
    await admin.post(leasesPath(namespace), lease('kept'))
    expect((await admin.delete(`${leasesPath(namespace, 'kept')}?dryRun=All`)).status).toBe(200)
    expect((await admin.get(leasesPath(namespace, 'kept'))).status).toBe(200)
  })

  it('deletes what a selector of a collection matches', async () => {
    const own = await server.createNamespace()
    for (const [name, app] of [
      ['a', 'x'],
      ['b', 'y'],
    ] as const) {
      await admin.post(leasesPath(own), { metadata: { name, labels: { app } } })
    }
    const { status, body } = await admin.delete(`${leasesPath(own)}?labelSelector=app%3Dx`)
    expect(status).toBe(200)
    expect(body.kind).toBe('LeaseList')
    const left = await admin.get(leasesPath(own))
    expect(left.body.items?.map(({ metadata }) => metadata.name)).toEqual(['b'])
  })
})

describe('an object with a finalizer', () => {
  const create = async (name: string): Promise<void> => {
    await admin.post(leasesPath(namespace), { metadata: { name, finalizers: ['example.com/wait'] } })
  }

  it('stays with a deletionTimestamp until the finalizer is removed', async () => {
    await create('finalized')
    const deleted = await admin.delete(leasesPath(namespace, 'finalized'))
    expect(deleted.status).toBe(200)
    expect(deleted.body.metadata).toMatchObject({
      deletionTimestamp: expect.stringMatching(/Z$/) as string,
      deletionGracePeriodSeconds: 0,
      finalizers: ['example.com/wait'],
    })
    const removed = await admin.patch(leasesPath(namespace, 'finalized'), MERGE_PATCH, {
      metadata: { finalizers: null },
    })
    expect(removed.status).toBe(200)
    expect(removed.body.metadata.finalizers).toBeUndefined()
    expect((await admin.get(leasesPath(namespace, 'finalized'))).status).toBe(404)
  })

  it('keeps its deletionTimestamp when it is deleted again or updated', async () => {
    await create('doomed')
    const { body: first } = await admin.delete(leasesPath(namespace, 'doomed'))
    const { body: second } = await admin.delete(leasesPath(namespace, 'doomed'))
    expect(second).toEqual(first)
    const touched = await admin.patch(leasesPath(namespace, 'doomed'), MERGE_PATCH, {
      metadata: { deletionTimestamp: null },
      spec: { holderIdentity: 'x' },
    })
    expect(touched.body.metadata.deletionTimestamp).toBe(first.metadata.deletionTimestamp)
  })

  it('takes no further finalizer while it is being deleted', async () => {
    await create('closing')
    await admin.delete(leasesPath(namespace, 'closing'))
    const { status, body } = await admin.patch(leasesPath(namespace, 'closing'), MERGE_PATCH, {
      metadata: { finalizers: ['example.com/wait', 'example.com/more'] },
    })
    expect(status).toBe(422)
    expect(body.message).toBe(
      'Lease.coordination.k8s.io "closing" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added ' +
        'if the object is being deleted, found new finalizers []string{"example.com/more"}',
    )
  })
})
