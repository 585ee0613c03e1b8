import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startApiServerUnderTest, type ApiServerUnderTest } from './api-server-under-test.ts'
import { JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, type ApiObject, type ContractClient } from './contract-client.ts'
import { configMapsPath, leasesPath } from './sample-objects.ts'

let server: ApiServerUnderTest
let admin: ContractClient
let namespace: string
let path: string
let before: ApiObject
let created = 0

beforeAll(async () => {
  server = await startApiServerUnderTest()
  admin = server.admin
  namespace = await server.createNamespace()
})

afterAll(async () => server[Symbol.asyncDispose]())

beforeEach(async () => {
  const name = `patched-${(created += 1)}`
  path = leasesPath(namespace, name)
  const sent = {
    metadata: { name, labels: { app: 'x', tier: 'y' } },
    spec: { holderIdentity: 'a', leaseTransitions: 1 },
  }
  before = (await admin.post(leasesPath(namespace), sent)).body
})

describe('a merge patch', () => {
  it('changes what it names, removes what it nulls, and keeps the rest', async () => {
    const patch = { metadata: { labels: { app: null, other: 'z' } }, spec: { holderIdentity: 'b' } }
    const { status, body } = await admin.patch(path, MERGE_PATCH, patch)
    expect(status).toBe(200)
    expect(body.metadata.labels).toEqual({ tier: 'y', other: 'z' })
    expect(body.spec).toEqual({ holderIdentity: 'b', leaseTransitions: 1 })
  })

  it('answers 409 when it names another resourceVersion than the stored one', async () => {
    const patch = { metadata: { resourceVersion: '1' }, spec: { holderIdentity: 'b' } }
    const { status, body } = await admin.patch(path, MERGE_PATCH, patch)
    expect(status).toBe(409)
    expect(body).toMatchObject({ reason: 'Conflict' })
  })

  it('goes through when it names the stored resourceVersion', async () => {
    const patch = { metadata: { resourceVersion: before.metadata.resourceVersion }, spec: { holderIdentity: 'b' } }
    expect((await admin.patch(path, MERGE_PATCH, patch)).status).toBe(200)
  })

  it('answers 404 for an object that does not exist', async () => {
    expect((await admin.patch(leasesPath(namespace, 'absent'), MERGE_PATCH, {})).status).toBe(404)
  })

  it('cannot rename an object', async () => {
    const { status, body } = await admin.patch(path, MERGE_PATCH, { metadata: { name: 'renamed' } })
    expect(status).toBe(400)
    expect(body.message).toContain('the name of the object (renamed) does not match the name on the URL')
  })

  it('answers 422 when the result is invalid', async () => {
    const { status, body } = await admin.patch(path, MERGE_PATCH, { spec: { leaseDurationSeconds: 0 } })
    expect(status).toBe(422)
    expect(body.message).toContain('spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0')
  })

  it('answers 422 when the result is no object of the kind', async () => {
    const { status, body } = await admin.patch(path, MERGE_PATCH, { spec: { leaseDurationSeconds: 'x' } })
    expect(status).toBe(422)
    expect(body.message).toMatch(
      /^ "" is invalid: patch: Invalid value: .* cannot unmarshal string into Go struct field/,
    )
  })

  it('answers 400 when it is no object', async () => {
    const { status, body } = await admin.patch(path, MERGE_PATCH, [1])
    expect(status).toBe(400)
    expect(body.message).toMatch(/^error decoding patch: /)
  })

  it('changes nothing on a dry run, and answers with the result', async () => {
    const { body } = await admin.patch(`${path}?dryRun=All`, MERGE_PATCH, { spec: { holderIdentity: 'b' } })
    expect(body.spec).toMatchObject({ holderIdentity: 'b' })
    expect(body.metadata.resourceVersion).toBe(before.metadata.resourceVersion)
    expect((await admin.get(path)).body).toEqual(before)
  })
})

describe('a JSON patch', () => {
  it('adds, replaces, removes, moves, copies and tests', async () => {
    const { status, body } = await admin.patch(path, JSON_PATCH, [
      { op: 'test', path: '/spec/holderIdentity', value: 'a' },
      { op: 'replace', path: '/spec/holderIdentity', value: 'b' },
      { op: 'remove', path: '/metadata/labels/tier' },
      { op: 'add', path: '/metadata/annotations', value: { 'example.com/one': '1' } },
      { op: 'copy', from: '/metadata/annotations/example.com~1one', path: '/metadata/annotations/two' },
      { op: 'move', from: '/metadata/labels/app', path: '/metadata/labels/moved' },
    ])
    expect(status).toBe(200)
    expect(body.spec).toEqual({ holderIdentity: 'b', leaseTransitions: 1 })
    expect(body.metadata).toMatchObject({ labels: { moved: 'x' }, annotations: { 'example.com/one': '1', two: '1' } })
  })

  it.each([
    ['a test does not hold', [{ op: 'test', path: '/spec/holderIdentity', value: 'b' }]],
    ['a path to remove is missing', [{ op: 'remove', path: '/spec/absent' }]],
    ['a path to replace leads nowhere', [{ op: 'replace', path: '/spec/absent/deep', value: 1 }]],
    ['an operation is unknown', [{ op: 'frob', path: '/spec' }]],
  ])('answers 422 and changes nothing when %s', async (_why, operations) => {
    const patch = [{ op: 'replace', path: '/spec/holderIdentity', value: 'never' }, ...operations]
    const { status, body } = await admin.patch(path, JSON_PATCH, patch)
    expect(status).toBe(422)
    expect(body).toMatchObject({
      reason: 'Invalid',
      message: 'the server rejected our request due to an error in our request',
    })
    expect((await admin.get(path)).body).toEqual(before)
  })

  it('adds a field that it is to replace and that is missing', async () => {
    const patch = [{ op: 'replace', path: '/spec/leaseDurationSeconds', value: 5 }]
    const { status, body } = await admin.patch(path, JSON_PATCH, patch)
    expect(status).toBe(200)
    expect(body.spec).toEqual({ holderIdentity: 'a', leaseTransitions: 1, leaseDurationSeconds: 5 })
  })

  it('answers 400 when it is no list', async () => {
    const { status, body } = await admin.patch(path, JSON_PATCH, { op: 'remove', path: '/spec' })
    expect(status).toBe(400)
    expect(body.message).toMatch(/^error decoding patch: /)
  })
})

describe('a strategic merge patch', () => {
  const reference = (uid: string): Record<string, string> => ({ apiVersion: 'v1', kind: 'Node', name: 'n', uid })

  it('merges lists by key and follows directives', async () => {
    const name = `strategic-${created}`
    const metadata = { name, finalizers: ['a.b/c', 'a.b/d'], ownerReferences: [reference('1'), reference('2')] }
    await admin.post(configMapsPath(namespace), { metadata, data: { a: '1' } })
    const { status, body } = await admin.patch(configMapsPath(namespace, name), STRATEGIC_PATCH, {
      metadata: {
        '$deleteFromPrimitiveList/finalizers': ['a.b/c'],
        ownerReferences: [reference('3'), { $patch: 'delete', uid: '2' }],
      },
      data: { a: null, b: '2' },
    })
    expect(status).toBe(200)
    expect(body.data).toEqual({ b: '2' })
    expect(body.metadata.finalizers).toEqual(['a.b/d'])
    const uids = (body.metadata as { ownerReferences?: { uid: string }[] }).ownerReferences?.map(({ uid }) => uid)
    expect(uids?.sort()).toEqual(['1', '3'])
  })
})

it('A patch of a type that is not known is answered with 415', async () => {
  const { status, body } = await admin.patch(path, 'application/json', {})
  expect(status).toBe(415)
  expect(body).toMatchObject({ reason: 'UnsupportedMediaType' })
})
