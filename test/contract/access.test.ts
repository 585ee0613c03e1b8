import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually, startApiServerUnderTest, type ApiServerUnderTest } from './api-server-under-test.ts'
import { APPLY, type ApiAnswer, type ContractClient } from './contract-client.ts'
import { configMap, configMapsPath, lease, leasesPath, resourcePath } from './sample-objects.ts'

const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const LEASES = 'resource "leases" in API group "coordination.k8s.io"'

let server: ApiServerUnderTest
let admin: ContractClient
let alice: ContractClient
let namespace: string

beforeAll(async () => {
  server = await startApiServerUnderTest()
  admin = server.admin
  alice = server.clientFor({ name: 'alice', groups: ['team'] })
  namespace = await server.createNamespace()
})

afterAll(async () => server[Symbol.asyncDispose]())

/** Gives a role to a user or a group, in one namespace. */
async function grant(
  name: string,
  subject: Readonly<Record<string, string>>,
  rules: readonly unknown[],
): Promise<void> {
  await admin.post(resourcePath(RBAC, namespace, 'roles'), { metadata: { name }, rules })
  const { status } = await admin.post(resourcePath(RBAC, namespace, 'rolebindings'), {
    metadata: { name },
    subjects: [subject],
    roleRef: { kind: 'Role', name, apiGroup: 'rbac.authorization.k8s.io' },
  })
  expect(status).toBe(201)
}

/** The real server takes a moment to notice a binding. */
function untilAllowed(ask: () => Promise<ApiAnswer>): Promise<ApiAnswer> {
  return eventually(ask, ({ status }) => status !== 403)
}

describe('a request without rights', () => {
  it('is answered with 403 that says who may not do what to which object where', async () => {
    const { status, body } = await alice.get(leasesPath(namespace, 'x'))
    expect(status).toBe(403)
    expect(body).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: `leases.coordination.k8s.io "x" is forbidden: User "alice" cannot get ${LEASES} in the namespace "${namespace}"`,
      reason: 'Forbidden',
      details: { name: 'x', group: 'coordination.k8s.io', kind: 'leases' },
      code: 403,
    })
  })

  it('names no object when it is about a collection', async () => {
    for (const [query, verb] of [
      ['', 'list'],
      ['?watch=true', 'watch'],
    ] as const) {
      const { body } = await alice.get(`${leasesPath(namespace)}${query}`)
      expect(body).toMatchObject({
        message: `leases.coordination.k8s.io is forbidden: User "alice" cannot ${verb} ${LEASES} in the namespace "${namespace}"`,
        details: { group: 'coordination.k8s.io', kind: 'leases' },
      })
    }
  })

  it('names the object that a field selector asks for', async () => {
    const { body } = await alice.get(`${leasesPath(namespace)}?fieldSelector=metadata.name%3Dx`)
    expect(body.message).toBe(
      `leases.coordination.k8s.io "x" is forbidden: User "alice" cannot list ${LEASES} in the namespace "${namespace}"`,
    )
  })

  it('says so for the whole cluster, the core group, subresources and paths', async () => {
    const messages = await Promise.all(
      [
        alice.get('/apis/coordination.k8s.io/v1/leases'),
        alice.post(configMapsPath(namespace), configMap('x')),
        alice.put(resourcePath('/api/v1', namespace, 'pods', 'x/status'), {}),
        alice.get('/metrics'),
      ].map(async (answer) => (await answer).body.message),
    )
    expect(messages).toEqual([
      `leases.coordination.k8s.io is forbidden: User "alice" cannot list ${LEASES} at the cluster scope`,
      `configmaps is forbidden: User "alice" cannot create resource "configmaps" in API group "" in the namespace "${namespace}"`,
      `pods "x" is forbidden: User "alice" cannot update resource "pods/status" in API group "" in the namespace "${namespace}"`,
      'forbidden: User "alice" cannot get path "/metrics"',
    ])
  })

  it('is that of an anonymous user when it shows nothing', async () => {
    const { status, body } = await server.clientWithoutCertificate().get(leasesPath(namespace, 'x'))
    expect(status).toBe(403)
    expect(body.message).toContain('User "system:anonymous" cannot get')
  })
})

describe('a request with a token that nobody gave out', () => {
  it('is answered with 401', async () => {
    const { status, body } = await server.clientWithoutCertificate('nonsense').get(leasesPath(namespace))
    expect(status).toBe(401)
    expect(body).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'Unauthorized',
      reason: 'Unauthorized',
      code: 401,
    })
  })
})

describe('a role', () => {
  beforeAll(async () => {
    await admin.post(leasesPath(namespace), lease('named'))
    await grant('replica', { kind: 'User', name: 'alice' }, [
      {
        apiGroups: ['coordination.k8s.io'],
        resources: ['leases'],
        resourceNames: ['named'],
        verbs: ['get', 'list', 'watch', 'update'],
      },
      { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create'] },
    ])
    await untilAllowed(() => alice.get(leasesPath(namespace, 'named')))
  })

  it('allows what it names', async () => {
    const { status, body } = await alice.get(leasesPath(namespace, 'named'))
    expect(status).toBe(200)
    const updated = await alice.put(leasesPath(namespace, 'named'), { ...body, spec: { holderIdentity: 'alice' } })
    expect(updated.status).toBe(200)
  })

  it('allows to list and watch a named object by a field selector only', async () => {
    const selected = `${leasesPath(namespace)}?fieldSelector=metadata.name%3Dnamed`
    expect((await alice.get(selected)).status).toBe(200)
    using watch = await alice.watch(`${selected}&watch=true`)
    expect(watch.status).toBe(200)
    expect((await alice.get(leasesPath(namespace))).status).toBe(403)
    expect((await alice.get(`${leasesPath(namespace)}?fieldSelector=metadata.name%3Dother`)).status).toBe(403)
  })

  it('allows nothing else', async () => {
    const other = leasesPath(await server.createNamespace())
    const answers = await Promise.all([
      alice.get(leasesPath(namespace, 'other')),
      alice.delete(leasesPath(namespace, 'named')),
      alice.patch(`${leasesPath(namespace, 'named')}?fieldManager=a`, APPLY, lease('named')),
      alice.get(`${other}/named`),
    ])
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 403])
  })

  it('allows to create without a name in the path', async () => {
    expect((await alice.post(leasesPath(namespace), lease('made'))).status).toBe(201)
  })

  it('is held by all members of a group', async () => {
    await grant('team', { kind: 'Group', name: 'team' }, [
      { apiGroups: [''], resources: ['configmaps'], verbs: ['list'] },
    ])
    expect((await untilAllowed(() => alice.get(configMapsPath(namespace)))).status).toBe(200)
    const bob = server.clientFor({ name: 'bob', groups: ['others'] })
    expect((await bob.get(configMapsPath(namespace))).status).toBe(403)
  })

  it('may name every verb and resource by a star', async () => {
    const carol = server.clientFor({ name: 'carol' })
    await grant('all', { kind: 'User', name: 'carol' }, [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }])
    expect((await untilAllowed(() => carol.get(leasesPath(namespace)))).status).toBe(200)
    expect((await carol.delete(leasesPath(namespace, 'made'))).status).toBe(200)
    expect((await carol.get('/api/v1/namespaces')).status).toBe(403)
  })

  it('of the cluster holds everywhere when it is bound for the cluster', async () => {
    const dave = server.clientFor({ name: 'dave' })
    const rules = [{ apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['list'] }]
    await admin.post(`${RBAC}/clusterroles`, { metadata: { name: 'lister' }, rules })
    await admin.post(`${RBAC}/clusterrolebindings`, {
      metadata: { name: 'lister' },
      subjects: [{ kind: 'User', name: 'dave' }],
      roleRef: { kind: 'ClusterRole', name: 'lister', apiGroup: 'rbac.authorization.k8s.io' },
    })
    expect((await untilAllowed(() => dave.get('/apis/coordination.k8s.io/v1/leases'))).status).toBe(200)
    expect((await dave.get(leasesPath(namespace, 'named'))).status).toBe(403)
  })

  it('must have verbs, groups and resources', async () => {
    const { status, body } = await admin.post(resourcePath(RBAC, namespace, 'roles'), {
      metadata: { name: 'empty' },
      rules: [{ verbs: [] }],
    })
    expect(status).toBe(422)
    // Followed by a text of its own until 1.36.
    expect(body.message).toContain('rules[0].verbs: Required value')
  })
})

describe('a review', () => {
  const ACCESS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'

  it('says whether the user may do something', async () => {
    const ask = async (client: ContractClient): Promise<unknown> => {
      const resourceAttributes = { namespace, verb: 'delete', group: 'coordination.k8s.io', resource: 'leases' }
      const { status, body } = await client.post(ACCESS, { spec: { resourceAttributes } })
      expect(status).toBe(201)
      return body.status
    }
    expect(await ask(admin)).toMatchObject({ allowed: true })
    expect(await ask(alice)).toEqual({ allowed: false })
  })

  it('says who the user is', async () => {
    const { status, body } = await alice.post('/apis/authentication.k8s.io/v1/selfsubjectreviews', {})
    expect(status).toBe(201)
    expect(body.status).toMatchObject({
      userInfo: { username: 'alice', groups: expect.arrayContaining(['team', 'system:authenticated']) as string[] },
    })
  })
})

describe('everybody', () => {
  it.each(['/healthz', '/livez', '/readyz'])('may ask %s', async (path) => {
    const { status, text } = await server.clientWithoutCertificate().get(path)
    expect({ status, text }).toEqual({ status: 200, text: 'ok' })
  })

  it('who is authenticated may discover the API', async () => {
    expect((await alice.get('/apis')).status).toBe(200)
    expect((await server.clientWithoutCertificate().get('/apis')).status).toBe(403)
  })
})
