/** Leases with unusual contents, and namespaces in which no lease can be written. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ApiServer, openApiServer } from './api-server.ts'
import { leasesPath } from './lease-journal.ts'
import { Scenario } from './scenario.ts'
import { BRISK } from './timings.ts'

const MS = 1_000_000n

let server: ApiServer
beforeAll(async () => {
  server = await openApiServer()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

const LONG_AGO = '1999-12-31T23:59:59.999999Z'
const FAR_OFF = '2199-12-31T23:59:59.999999Z'

describe.concurrent('a lease written by hand', () => {
  it.each([
    ['without any field', {}],
    ['with an empty holder and an hour to go', { holderIdentity: '', leaseDurationSeconds: 3600, renewTime: FAR_OFF }],
    ['with a counter that can grow no further', { holderIdentity: '', leaseTransitions: 2 ** 31 - 1 }],
  ])('%s is free', async (_what, spec) => {
    await using scenario = await Scenario.open(server)
    await create(scenario, { spec })
    const replica = await scenario.start('alpha', { timing: BRISK })

    await replica.saw('acted')

    expect(await scenario.storedLease()).toMatchObject({ holderIdentity: 'alpha', leaseDurationSeconds: 4 })
  })

  it.each([
    ['that was renewed long ago', { holderIdentity: 'ghost', renewTime: LONG_AGO, acquireTime: LONG_AGO }],
    ['that will be renewed in the future', { holderIdentity: 'ghost', renewTime: FAR_OFF, acquireTime: FAR_OFF }],
    ['whose holder has a name of 10 kB', { holderIdentity: 'g'.repeat(10_000), renewTime: LONG_AGO }],
    ['without times', { holderIdentity: 'ghost' }],
  ])('%s is left alone for its own duration, counted from when it was seen', async (_what, spec) => {
    await using scenario = await Scenario.open(server)
    await create(scenario, { spec: { leaseDurationSeconds: 3, ...spec } })
    const { at: seenAt } = await scenario.lease.waitFor('the lease', () => true)
    const replica = await scenario.start('alpha', { timing: BRISK })

    const { at } = await replica.saw('loop-began')

    expect(at - seenAt).toBeGreaterThan(2990n * MS)
    const { from, to } = await replica.reached('following')
    expect([from.kind, to.kind]).toContain('following')
  })

  it('without a duration is left alone for longer than a short one', async () => {
    await using scenario = await Scenario.open(server)
    await create(scenario, { spec: { holderIdentity: 'ghost', renewTime: LONG_AGO } })
    const replica = await scenario.start('alpha', { timing: BRISK })
    await replica.follows('ghost')

    await new Promise((resolve) => setTimeout(resolve, 5000))

    expect(replica.all('loop-began')).toEqual([])
    expect((await scenario.storedLease())?.holderIdentity).toBe('ghost')
  })

  it('with foreign labels, annotations and finalizers keeps them', async () => {
    await using scenario = await Scenario.open(server)
    const metadata = {
      labels: { team: 'ops' },
      annotations: { 'example.com/note': 'mine' },
      finalizers: ['example.com/hold'],
    }
    await create(scenario, { metadata, spec: { holderIdentity: '' } })
    const replica = await scenario.start('alpha', { timing: BRISK })
    await replica.saw('acted')
    await scenario.lease.changes(2)

    const { body } = await server.admin.request(pathOf(scenario))

    expect(body).toMatchObject({ metadata, spec: { holderIdentity: 'alpha' } })
    await free(scenario)
  })

  it('that is being deleted is not written to; when it is gone it is created, held for a lease duration, and then acted on', async () => {
    await using scenario = await Scenario.open(server)
    await create(scenario, { metadata: { finalizers: ['example.com/hold'] }, spec: { holderIdentity: '' } })
    await server.admin.expect(pathOf(scenario), { method: 'DELETE' })
    const replica = await scenario.start('alpha', { timing: BRISK })
    await replica.reached('following')
    await new Promise((resolve) => setTimeout(resolve, 1000))
    expect(scenario.lease.entries.filter(({ holder }) => holder === 'alpha')).toEqual([])

    await free(scenario)
    const created = await scenario.lease.heldBy('alpha')
    const { at } = await replica.saw('loop-began')

    expect(at - created.at).toBeGreaterThan(BigInt(BRISK.leaseDurationMs - 50) * MS)
  })
})

describe.concurrent('a namespace', () => {
  it('that does not exist is waited for, and the log names it', async () => {
    await using scenario = await Scenario.open(server)
    const namespace = `${scenario.namespace}-later`
    const credentials = server.kubeConfig('system:admin-of-the-test')
    await server.admin.expect('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      method: 'POST',
      body: {
        metadata: { name: namespace },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'system:admin-of-the-test' }],
      },
    })
    const replica = await scenario.start('alpha', { credentials, timing: { ...BRISK, namespace } })
    const { err } = await replica.logged('request-failed')

    expect(err).toMatchObject({ message: expect.stringContaining(namespace) })
    await server.admin.expect('/api/v1/namespaces', { method: 'POST', body: { metadata: { name: namespace } } })
    await replica.saw('acted')
  })
})

function pathOf({ namespace, leaseName }: Scenario): string {
  return `${leasesPath(namespace)}/${leaseName}`
}

async function create(
  { namespace, leaseName }: Scenario,
  { metadata = {}, spec }: { readonly metadata?: object; readonly spec: object },
): Promise<void> {
  await server.admin.expect(leasesPath(namespace), {
    method: 'POST',
    body: { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { ...metadata, name: leaseName }, spec },
  })
}

/** Takes the finalizers off, so that the lease can go. */
async function free(scenario: Scenario): Promise<void> {
  for (;;) {
    const lease = (await server.admin.expect(pathOf(scenario))) as { readonly metadata: object }
    const body = { ...lease, metadata: { ...lease.metadata, finalizers: [] } }
    const { status } = await server.admin.request(pathOf(scenario), { method: 'PUT', body })
    if (status !== 409) return
  }
}
