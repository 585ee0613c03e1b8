import { KubeConfig } from '@kubernetes/client-node'
import { type LeaseRecord, Manager, type Term } from '@tenure/core'
import { LeaseLock } from '@tenure/kubernetes'
import { ConfigMapLock, MultiLock } from '@tenure/kubernetes/legacy-locks'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ApiServer, openApiServer } from '../scenarios/api-server.ts'
import { Journal } from '../scenarios/journal.ts'
import { STEADY } from '../scenarios/timings.ts'

let server: ApiServer
let kubeConfig: KubeConfig
beforeAll(async () => {
  server = await openApiServer()
  kubeConfig = new KubeConfig()
  kubeConfig.loadFromString(server.kubeConfig('locks'))
  const subjects = [{ kind: 'User', name: 'locks', apiGroup: 'rbac.authorization.k8s.io' }]
  const roleRef = { kind: 'ClusterRole', name: 'cluster-admin', apiGroup: 'rbac.authorization.k8s.io' }
  await server.admin.expect('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    method: 'POST',
    body: { metadata: { name: 'locks' }, roleRef, subjects },
  })
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

const parts = (name: string) => ({ kubeConfig, name, namespace: 'default' })

/** A replica on both locks that does nothing but lead. */
function replica(identity: string, name: string) {
  const events = new Journal<{ readonly kind: string; readonly at: number; readonly reason?: string }>(identity)
  const createLock = () => new MultiLock(new ConfigMapLock(parts(name)), new LeaseLock(parts(name)))
  const manager = new Manager({ identity, lease: { name, ...STEADY }, createLock })
  manager.register(() => ({ name: 'waiting', run: (term: Term) => term.sleep(86_400_000) }))
  manager.on((event) => events.record({ ...event, at: performance.now() }))
  const running = manager.start()
  const saw = (kind: string, from = 0) => events.waitFor(kind, (event) => event.kind === kind, { from })
  return {
    events,
    saw,
    [Symbol.asyncDispose]: async () => {
      await manager.stop()
      await running
    },
  }
}

/** A Lease without a ConfigMap beside it, as a fleet that moved to Leases has. */
async function createLease(name: string, holderIdentity: string): Promise<void> {
  const lock = new LeaseLock(parts(name))
  const record: LeaseRecord = {
    holderIdentity,
    leaseDurationSeconds: 15,
    acquireTime: '2026-01-01T00:00:00.000000Z',
    renewTime: '2026-01-01T00:00:00.000000Z',
    leaseTransitions: 1,
    annotations: {},
  }
  await lock.create(record, { signal: AbortSignal.timeout(5000) })
  await lock.close()
}

describe.concurrent('a fleet on a ConfigMap and a Lease', () => {
  it('leads at once when the Lease was released and there is no ConfigMap', async () => {
    await createLease('released', '')
    const startedAt = performance.now()
    await using leader = replica('alpha', 'released')
    const { at } = await leader.saw('term-began')
    expect(at - startedAt).toBeLessThan(STEADY.leaseDurationMs / 2)
  })

  it('ends its term as one whose lease was deleted when either object is deleted, and leads again', async () => {
    await using leader = replica('alpha', 'deleted')
    await leader.saw('term-began')
    const paths = ['/api/v1/namespaces/default/configmaps', '/apis/coordination.k8s.io/v1/namespaces/default/leases']
    for (const path of paths) {
      const from = leader.events.length
      await server.admin.expect(`${path}/deleted`, { method: 'DELETE' })
      expect(await leader.saw('term-ending', from)).toMatchObject({ reason: 'lease-deleted' })
      await leader.saw('term-began', from)
    }
  })
})
