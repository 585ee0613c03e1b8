import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApiServerUnderTest, type ApiServerUnderTest } from './api-server-under-test.ts'
import { MERGE_PATCH, STRATEGIC_PATCH, type ContractClient } from './contract-client.ts'
import { lease, leasesPath, resourcePath } from './sample-objects.ts'

let server: ApiServerUnderTest
let admin: ContractClient
let namespace: string

beforeAll(async () => {
  server = await startApiServerUnderTest()
  admin = server.admin
  namespace = await server.createNamespace()
})

afterAll(async () => server[Symbol.asyncDispose]())

describe('an event', () => {
  const events = (name?: string): string => resourcePath('/api/v1', namespace, 'events', name)
  const newEvents = (name?: string): string => resourcePath('/apis/events.k8s.io/v1', namespace, 'events', name)
  const about = (name: string): Record<string, string> => ({ kind: 'Lease', namespace, name })

  beforeAll(async () => {
    const created = await admin.post(events(), {
      metadata: { name: 'core' },
      involvedObject: about('janitor'),
      reason: 'LeaderElection',
      message: 'a became leader',
      type: 'Normal',
      source: { component: 'tenure' },
      firstTimestamp: '2020-01-01T00:00:00Z',
      lastTimestamp: '2020-01-01T00:00:00Z',
      count: 1,
    })
    expect(created.status).toBe(201)
    const modern = await admin.post(newEvents(), {
      metadata: { name: 'modern' },
      regarding: about('sweeper'),
      reason: 'LeaderElection',
      note: 'b became leader',
      type: 'Normal',
      action: 'Elect',
      reportingController: 'example.com/elector',
      reportingInstance: 'b',
      eventTime: '2020-01-01T00:00:00.000001Z',
    })
    expect(modern.status).toBe(201)
  })

  it('of the core group is served by events.k8s.io too', async () => {
    const { body } = await admin.get(newEvents('core'))
    expect(body).toMatchObject({
      apiVersion: 'events.k8s.io/v1',
      regarding: about('janitor'),
      note: 'a became leader',
      deprecatedSource: { component: 'tenure' },
      deprecatedFirstTimestamp: '2020-01-01T00:00:00Z',
      deprecatedCount: 1,
      eventTime: null,
    })
  })

  it('of events.k8s.io is served by the core group too', async () => {
    const { body } = await admin.get(events('modern'))
    expect(body).toMatchObject({
      apiVersion: 'v1',
      involvedObject: about('sweeper'),
      message: 'b became leader',
      reportingComponent: 'example.com/elector',
      reportingInstance: 'b',
      eventTime: '2020-01-01T00:00:00.000001Z',
      firstTimestamp: null,
      lastTimestamp: null,
      source: {},
    })
  })

  it('is selected by the object that it is about', async () => {
    const query = 'fieldSelector=involvedObject.kind%3DLease,involvedObject.name%3Djanitor,reason%3DLeaderElection'
    const { body } = await admin.get(`${events()}?${query}`)
    expect(body.items?.map(({ metadata }) => metadata.name)).toEqual(['core'])
    const modern = await admin.get(`${newEvents()}?fieldSelector=regarding.name%3Dsweeper`)
    expect(modern.body.items?.map(({ metadata }) => metadata.name)).toEqual(['modern'])
  })

  it('is not selected by other fields', async () => {
    const { status, body } = await admin.get(`${events()}?fieldSelector=message%3Dx`)
    expect(status).toBe(400)
    expect(body.message).toBe('field label not supported: message')
  })

  it('must be in the namespace of its object', async () => {
    const { status, body } = await admin.post(events(), {
      metadata: { name: 'misplaced' },
      involvedObject: { kind: 'Lease', name: 'janitor' },
    })
    expect(status).toBe(422)
    expect(body.message).toBe(
      'Event "misplaced" is invalid: involvedObject.namespace: Invalid value: "": does not match event.namespace',
    )
  })

  it('counts up by a patch', async () => {
    const { status, body } = await admin.patch(events('core'), STRATEGIC_PATCH, { count: 2 })
    expect(status).toBe(200)
    expect(body).toMatchObject({ count: 2, reason: 'LeaderElection' })
  })
})

describe('a namespace', () => {
  it.each(['default', 'kube-system', 'kube-public'])(
    'named %s is there from the start and cannot be deleted',
    async (name) => {
      expect((await admin.get(`/api/v1/namespaces/${name}`)).body).toMatchObject({ status: { phase: 'Active' } })
      const { status, body } = await admin.delete(`/api/v1/namespaces/${name}`)
      expect(status).toBe(403)
      expect(body.message).toBe(`namespaces "${name}" is forbidden: this namespace may not be deleted`)
    },
  )

  it('is active and labelled with its name', async () => {
    const { body } = await admin.get(`/api/v1/namespaces/${namespace}`)
    expect(body).toMatchObject({
      metadata: { labels: { 'kubernetes.io/metadata.name': namespace } },
      spec: { finalizers: ['kubernetes'] },
      status: { phase: 'Active' },
    })
  })

  it('must be named by a DNS label', async () => {
    const { status, body } = await admin.post('/api/v1/namespaces', { metadata: { name: 'a.b' } })
    expect(status).toBe(422)
    expect(body.message).toBe('Namespace "a.b" is invalid: metadata.name: Invalid value: "a.b": must not contain dots')
  })

  it('takes nothing new while it is being deleted', async () => {
    const doomed = await server.createNamespace()
    // With this in it, it cannot go yet.
    await admin.post(leasesPath(doomed), { metadata: { name: 'holds', finalizers: ['a.b/c'] } })
    const deleted = await admin.delete(`/api/v1/namespaces/${doomed}`)
    expect(deleted.status).toBe(200)
    expect(deleted.body).toMatchObject({
      metadata: { deletionTimestamp: expect.any(String) as string },
      status: { phase: 'Terminating' },
    })
    const why = `unable to create new content in namespace ${doomed} because it is being terminated`
    for (const answer of [
      await admin.post(leasesPath(doomed), lease('late')),
      await admin.put(leasesPath(doomed, 'late'), lease('late')),
    ]) {
      expect(answer.status).toBe(403)
      expect(answer.body).toMatchObject({
        reason: 'Forbidden',
        message: `leases.coordination.k8s.io "late" is forbidden: ${why}`,
        details: {
          name: 'late',
          causes: [
            {
              reason: 'NamespaceTerminating',
              message: `namespace ${doomed} is being terminated`,
              field: 'metadata.namespace',
            },
          ],
        },
      })
    }
    expect(
      (await admin.patch(leasesPath(doomed, 'holds'), MERGE_PATCH, { spec: { holderIdentity: 'x' } })).status,
    ).toBe(200)
  })
})

describe('a secret', () => {
  it('stores text as base64 and is opaque unless it says otherwise', async () => {
    const { body } = await admin.post(resourcePath('/api/v1', namespace, 'secrets'), {
      metadata: { name: 'text' },
      stringData: { a: 'b' },
    })
    expect(body).toMatchObject({ data: { a: 'Yg==' }, type: 'Opaque' })
    expect(body).not.toHaveProperty('stringData')
  })
})

describe('a lease candidate', () => {
  const path = (): string => resourcePath('/apis/coordination.k8s.io/v1beta1', namespace, 'leasecandidates')
  const spec = { leaseName: 'janitor', binaryVersion: '1.0.0', emulationVersion: '1.0.0', strategy: 'example.com/own' }

  it('is stored', async () => {
    const { status, body } = await admin.post(path(), { metadata: { name: 'a' }, spec })
    expect(status).toBe(201)
    expect(body.spec).toEqual(spec)
  })

  it('must name its lease', async () => {
    const { status, body } = await admin.post(path(), { metadata: { name: 'b' }, spec: { ...spec, leaseName: '' } })
    expect(status).toBe(422)
    expect(body.message).toContain('spec.leaseName: Required value')
  })
})

describe('discovery', () => {
  it('lists the groups with their versions', async () => {
    const { body } = await admin.get('/apis')
    const { groups } = body as unknown as { groups: { name: string; preferredVersion: { groupVersion: string } }[] }
    const preferred = Object.fromEntries(
      groups.map(({ name, preferredVersion }) => [name, preferredVersion.groupVersion]),
    )
    expect(preferred).toMatchObject({
      'coordination.k8s.io': 'coordination.k8s.io/v1',
      'events.k8s.io': 'events.k8s.io/v1',
      'rbac.authorization.k8s.io': 'rbac.authorization.k8s.io/v1',
      'apiextensions.k8s.io': 'apiextensions.k8s.io/v1',
    })
  })

  it('describes the resources of a version', async () => {
    const { body } = await admin.get('/apis/coordination.k8s.io/v1')
    expect(body).toMatchObject({ kind: 'APIResourceList', apiVersion: 'v1', groupVersion: 'coordination.k8s.io/v1' })
    const { resources } = body as unknown as { resources: { name: string; verbs: string[] }[] }
    const leases = resources.find(({ name }) => name === 'leases')
    expect(leases).toMatchObject({ singularName: 'lease', namespaced: true, kind: 'Lease' })
    expect(leases?.verbs.sort()).toEqual([
      'create',
      'delete',
      'deletecollection',
      'get',
      'list',
      'patch',
      'update',
      'watch',
    ])
  })

  it('tells the version of Kubernetes', async () => {
    const { body } = await admin.get('/version')
    expect(body).toMatchObject({ major: '1', gitVersion: expect.stringMatching(/^v1\.\d+\./) as string })
  })
})
