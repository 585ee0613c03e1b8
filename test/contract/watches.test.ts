import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startApiServerUnderTest, type ApiServerUnderTest } from './api-server-under-test.ts'
import { MERGE_PATCH, summarize, type ContractClient } from './contract-client.ts'
import { lease, leasesPath } from './sample-objects.ts'

let server: ApiServerUnderTest
let admin: ContractClient
let namespace: string
let path: string

beforeAll(async () => {
  server = await startApiServerUnderTest()
  admin = server.admin
})

afterAll(async () => server[Symbol.asyncDispose]())

beforeEach(async () => {
  namespace = await server.createNamespace()
  path = leasesPath(namespace)
})

async function currentVersion(): Promise<string> {
  return (await admin.get(path)).body.metadata.resourceVersion
}

describe('a watch', () => {
  it('tells every change in order, with the object as it was answered', async () => {
    using watch = await admin.watch(`${path}?watch=true`)
    expect(watch.status).toBe(200)
    const added = await admin.post(path, lease('a', { holderIdentity: 'x' }))
    const modified = await admin.put(`${path}/a`, { ...added.body, spec: { holderIdentity: 'y' } })
    await admin.delete(`${path}/a`)
    const events = await watch.take(3)
    expect(summarize(events)).toEqual(['ADDED a', 'MODIFIED a', 'DELETED a'])
    expect(events[0]?.object).toEqual(added.body)
    expect(events[1]?.object).toEqual(modified.body)
    expect(events[2]?.object.spec).toEqual({ holderIdentity: 'y' })
    expect(BigInt(events[2]?.object.metadata.resourceVersion ?? 0)).toBeGreaterThan(
      BigInt(modified.body.metadata.resourceVersion),
    )
  })

  it('does not tell a write that changed nothing', async () => {
    const { body } = await admin.post(path, lease('a'))
    using watch = await admin.watch(`${path}?watch=true&resourceVersion=${body.metadata.resourceVersion}`)
    await admin.put(`${path}/a`, body)
    await admin.post(path, lease('marker'))
    expect(summarize(await watch.take(1))).toEqual(['ADDED marker'])
  })

  it('tells a deletion with finalizers as a change and then the end', async () => {
    using watch = await admin.watch(`${path}?watch=true`)
    await admin.post(path, { metadata: { name: 'a', finalizers: ['a.b/c'] } })
    await admin.delete(`${path}/a`)
    await admin.patch(`${path}/a`, MERGE_PATCH, { metadata: { finalizers: null } })
    const events = await watch.take(3)
    expect(summarize(events)).toEqual(['ADDED a', 'MODIFIED a', 'DELETED a'])
    expect(events[1]?.object.metadata.deletionTimestamp).toMatch(/Z$/)
  })

  it('begins with what exists when no version is given', async () => {
    await admin.post(path, lease('a'))
    await admin.post(path, lease('b'))
    for (const query of ['', '&resourceVersion=0']) {
      using watch = await admin.watch(`${path}?watch=true${query}`)
      expect(summarize(await watch.take(2)).sort()).toEqual(['ADDED a', 'ADDED b'])
    }
  })

  it('begins after the version that is given', async () => {
    await admin.post(path, lease('before'))
    const version = await currentVersion()
    await admin.post(path, lease('missed'))
    await admin.delete(`${path}/before`)
    using watch = await admin.watch(`${path}?watch=true&resourceVersion=${version}`)
    expect(summarize(await watch.take(2))).toEqual(['ADDED missed', 'DELETED before'])
  })

  it('tells only about its namespace', async () => {
    const version = await currentVersion()
    using watch = await admin.watch(`${path}?watch=true&resourceVersion=${version}`)
    await admin.post(leasesPath(await server.createNamespace()), lease('foreign'))
    await admin.post(path, lease('own'))
    expect(summarize(await watch.take(1))).toEqual(['ADDED own'])
  })

  it('tells about all namespaces when the path names none', async () => {
    const selection = 'labelSelector=scope%3Deverywhere'
    using watch = await admin.watch(`/apis/coordination.k8s.io/v1/leases?watch=true&${selection}`)
    const labelled = (name: string): unknown => ({ metadata: { name, labels: { scope: 'everywhere' } } })
    await admin.post(leasesPath(await server.createNamespace()), labelled('foreign'))
    await admin.post(path, labelled('own'))
    expect(summarize(await watch.take(2))).toEqual(['ADDED foreign', 'ADDED own'])
  })

  it('ends in an orderly way after timeoutSeconds', async () => {
    using watch = await admin.watch(`${path}?watch=true&timeoutSeconds=1`)
    expect(await watch.rest()).toEqual([])
  })
})

describe('a watch with a selector', () => {
  it('tells of one object by its name', async () => {
    using watch = await admin.watch(`${path}?watch=true&fieldSelector=metadata.name%3Db`)
    await admin.post(path, lease('a'))
    await admin.post(path, lease('b'))
    expect(summarize(await watch.take(1))).toEqual(['ADDED b'])
  })

  it('tells objects that come into the selection as added, and those that leave it as deleted', async () => {
    using watch = await admin.watch(`${path}?watch=true&labelSelector=app%3Dx`)
    await admin.post(path, { metadata: { name: 'a' }, spec: { holderIdentity: '1' } })
    const label = (app: string | null): unknown => ({ metadata: { labels: { app } } })
    await admin.patch(`${path}/a`, MERGE_PATCH, label('x'))
    await admin.patch(`${path}/a`, MERGE_PATCH, { spec: { holderIdentity: '2' } })
    const left = await admin.patch(`${path}/a`, MERGE_PATCH, label(null))
    await admin.delete(`${path}/a`)
    await admin.post(path, { metadata: { name: 'marker', labels: { app: 'x' } } })
    const events = await watch.take(4)
    expect(summarize(events)).toEqual(['ADDED a', 'MODIFIED a', 'DELETED a', 'ADDED marker'])
    expect(events[2]?.object.metadata).toMatchObject({
      labels: { app: 'x' },
      resourceVersion: left.body.metadata.resourceVersion,
    })
  })
})

describe('a streaming list', () => {
  const STREAM = 'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan'

  it('marks the end of the present state with a bookmark', async () => {
    const { body } = await admin.post(path, lease('a'))
    using watch = await admin.watch(`${path}?${STREAM}&allowWatchBookmarks=true`)
    const [added, bookmark] = await watch.take(2)
    expect(added).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'a' } } })
    expect(bookmark).toMatchObject({
      type: 'BOOKMARK',
      object: {
        kind: 'Lease',
        apiVersion: 'coordination.k8s.io/v1',
        metadata: { annotations: { 'k8s.io/initial-events-end': 'true' } },
        spec: {},
      },
    })
    expect(BigInt(bookmark?.object.metadata.resourceVersion ?? 0)).toBeGreaterThanOrEqual(
      BigInt(body.metadata.resourceVersion),
    )
  })

  it('needs resourceVersionMatch', async () => {
    const { status, body } = await admin.get(`${path}?watch=true&sendInitialEvents=true`)
    expect(status).toBe(422)
    expect(body.message).toBe(
      'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents requires setting ' +
        'resourceVersionMatch to NotOlderThan',
    )
  })

  it('leaves the present state out on request', async () => {
    await admin.post(path, lease('present'))
    using watch = await admin.watch(`${path}?watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan`)
    await admin.post(path, lease('coming'))
    expect(summarize(await watch.take(1))).toEqual(['ADDED coming'])
  })
})

describe('a watch from a version that is forgotten', () => {
  it('is answered with 200, one ERROR event of 410 Expired, and the end', async () => {
    const version = await currentVersion()
    await admin.post(path, lease('a'))
    await server.forgetHistory()
    using watch = await admin.watch(`${path}?watch=true&resourceVersion=${version}`)
    expect(watch.status).toBe(200)
    expect(await watch.rest()).toEqual([
      {
        type: 'ERROR',
        object: {
          kind: 'Status',
          apiVersion: 'v1',
          metadata: {},
          status: 'Failure',
          message: expect.stringMatching(`^too old resource version: ${version} \\(\\d+\\)$`) as string,
          reason: 'Expired',
          code: 410,
        },
      },
    ])
  })
})
