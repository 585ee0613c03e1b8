import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ApiServerUnderTest, eventually, startApiServerUnderTest } from './api-server-under-test.ts'

let server: ApiServerUnderTest
let namespace: string
let path: string

beforeAll(async () => {
  server = await startApiServerUnderTest()
  namespace = await server.createNamespace()
  path = `/api/v1/namespaces/${namespace}/configmaps`
  await server.admin.post(path, { metadata: { name: 'one' }, data: { a: '1', b: '2' } })
})

afterAll(() => server[Symbol.asyncDispose]())

const as = (form: string) => ({
  headers: { accept: `application/json;as=${form};v=v1;g=meta.k8s.io,application/json` },
})
const columns = [{ name: 'Name', format: 'name' }, { name: 'Data' }, { name: 'Age' }]
const row = { cells: ['one', 2, expect.stringMatching(/^\d+s$/)] }

describe('An answer', () => {
  it('is a table with a row for each object where the client asks for one', async () => {
    const list = await server.admin.send('GET', `${path}?fieldSelector=metadata.name=one`, as('Table'))
    const object = { kind: 'PartialObjectMetadata', metadata: { name: 'one', namespace } }
    expect(list.body).toMatchObject({ kind: 'Table', columnDefinitions: columns, rows: [{ ...row, object }] })
    const one = await server.admin.send('GET', `${path}/one?includeObject=Object`, as('Table'))
    expect(one.body).toMatchObject({
      kind: 'Table',
      rows: [{ ...row, object: { kind: 'ConfigMap', data: { a: '1' } } }],
    })
    const none = await server.admin.send('GET', `${path}/one?includeObject=None`, as('Table'))
    expect(none.body).toMatchObject({ kind: 'Table', rows: [{ ...row, object: null }] })
    const odd = await server.admin.send('GET', `${path}/one?includeObject=Some`, as('Table'))
    expect(odd.status).toBe(400)
  })

  it('to a watch names the columns of a table once', async () => {
    const query = '?watch=true&fieldSelector=metadata.name=watched'
    using watch = await server.admin.watch(path + query, as('Table'))
    await server.admin.post(path, { metadata: { name: 'watched' } })
    await server.admin.delete(`${path}/watched`)
    const events = await watch.take(2)
    expect(events).toMatchObject([
      {
        type: 'ADDED',
        object: { kind: 'Table', columnDefinitions: columns, rows: [{ cells: ['watched', 0, expect.any(String)] }] },
      },
      { type: 'DELETED', object: { kind: 'Table', rows: [{ cells: ['watched', 0, expect.any(String)] }] } },
    ])
  })

  it('holds the metadata only where the client asks for that', async () => {
    const one = await server.admin.send('GET', `${path}/one`, as('PartialObjectMetadata'))
    expect(one.body).toMatchObject({
      kind: 'PartialObjectMetadata',
      apiVersion: 'meta.k8s.io/v1',
      metadata: { name: 'one' },
    })
    expect(one.body.data).toBeUndefined()
    const list = await server.admin.send('GET', path, as('PartialObjectMetadataList'))
    expect(list.body).toMatchObject({ kind: 'PartialObjectMetadataList', items: expect.any(Array) })
  })

  it('is a refusal with 406 where the client takes no form that there is', async () => {
    const { status, body } = await server.admin.send('GET', path, { headers: { accept: 'text/html' } })
    expect(status).toBe(406)
    expect(body).toMatchObject({ kind: 'Status', reason: 'NotAcceptable' })
    for (const document of ['/openapi/v2', '/openapi/v3/api/v1']) {
      const answer = await server.admin.send('GET', document, { headers: { accept: 'text/html' } })
      expect([document, answer.status]).toEqual([document, 406])
    }
  })
})

describe('A request in the name of somebody else', () => {
  const whoami = async (client: ApiServerUnderTest['admin'], headers: Record<string, string>) =>
    client.send('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', { body: {}, headers })

  it('has the rights of that user, and the groups that it names', async () => {
    const headers = { 'impersonate-user': 'jane', 'impersonate-group': 'staff' }
    const { body } = await whoami(server.admin, headers)
    expect(body.status).toMatchObject({ userInfo: { username: 'jane', groups: ['staff', 'system:authenticated'] } })
    expect((await server.admin.send('GET', path, { headers })).status).toBe(403)
  })

  it('has the groups of a service account', async () => {
    const { body } = await whoami(server.admin, { 'impersonate-user': `system:serviceaccount:${namespace}:robot` })
    const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated']
    expect(body.status).toMatchObject({ userInfo: { groups } })
  })

  it('is refused with 403 to whom no role grants it', async () => {
    const nobody = server.clientFor({ name: 'nobody' })
    const answer = await whoami(nobody, { 'impersonate-user': 'jane' })
    expect(answer.status).toBe(403)
  })

  it('may be made by a user whose role grants it', async () => {
    const apiGroup = 'rbac.authorization.k8s.io'
    const rbac = `/apis/${apiGroup}/v1`
    const rules = [{ verbs: ['impersonate'], apiGroups: [''], resources: ['users'], resourceNames: ['jane'] }]
    await server.admin.post(`${rbac}/clusterroles`, { metadata: { name: 'be-jane' }, rules })
    await server.admin.post(`${rbac}/clusterrolebindings`, {
      metadata: { name: 'be-jane' },
      subjects: [{ kind: 'User', apiGroup, name: 'deputy' }],
      roleRef: { apiGroup, kind: 'ClusterRole', name: 'be-jane' },
    })
    const deputy = server.clientFor({ name: 'deputy' })
    const allowed = await eventually(
      () => whoami(deputy, { 'impersonate-user': 'jane' }),
      ({ status }) => status === 201,
    )
    expect(allowed.status).toBe(201)
    expect((await whoami(deputy, { 'impersonate-user': 'joe' })).status).toBe(403)
  })
})
