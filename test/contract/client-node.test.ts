import {
  ApiException,
  CoordinationV1Api,
  CoreV1Api,
  KubeConfig,
  makeInformer,
  PatchStrategy,
  setHeaderOptions,
  V1MicroTime,
  type V1Lease,
} from '@kubernetes/client-node'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApiServerUnderTest, type ApiServerUnderTest } from './api-server-under-test.ts'

let server: ApiServerUnderTest
let config: KubeConfig
let leases: CoordinationV1Api
let namespace: string

beforeAll(async () => {
  server = await startApiServerUnderTest()
  namespace = await server.createNamespace()
  config = new KubeConfig()
  config.loadFromString(server.kubeConfig({ name: 'typed', groups: ['system:masters'] }))
  leases = config.makeApiClient(CoordinationV1Api)
})

afterAll(async () => server[Symbol.asyncDispose]())

describe('the typed client', () => {
  it('creates, reads, replaces, patches and deletes a lease', async () => {
    const renewTime = new V1MicroTime('2020-01-01T00:00:00.123Z')
    const body: V1Lease = { metadata: { name: 'typed' }, spec: { holderIdentity: 'a', renewTime } }
    const created = await leases.createNamespacedLease({ namespace, body })
    expect(created.spec?.holderIdentity).toBe('a')
    const read = await leases.readNamespacedLease({ namespace, name: 'typed' })
    expect(read).toEqual(created)
    created.spec = { holderIdentity: 'b', renewTime }
    const replaced = await leases.replaceNamespacedLease({ namespace, name: 'typed', body: created })
    expect(replaced.spec?.holderIdentity).toBe('b')
    const patched = await leases.patchNamespacedLease(
      { namespace, name: 'typed', body: { spec: { leaseTransitions: 1 } } },
      setHeaderOptions('Content-Type', PatchStrategy.MergePatch),
    )
    expect(patched.spec).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 })
    const listed = await leases.listNamespacedLease({ namespace })
    expect(listed.items.map(({ metadata }) => metadata?.name)).toEqual(['typed'])
    await leases.deleteNamespacedLease({ namespace, name: 'typed' })
  })

  it('meets the Status of a failure in an exception', async () => {
    const failure: unknown = await leases
      .readNamespacedLease({ namespace, name: 'absent' })
      .catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(ApiException)
    expect(failure).toMatchObject({ code: 404 })
  })

  it('sees the namespaces that are there from the start', async () => {
    const { items } = await config.makeApiClient(CoreV1Api).listNamespace()
    expect(items.map(({ metadata }) => metadata?.name)).toEqual(expect.arrayContaining(['default', 'kube-system']))
  })
})

describe('an informer', () => {
  it('follows a collection', async () => {
    const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`
    const informer = makeInformer(config, path, () => leases.listNamespacedLease({ namespace }))
    const { promise: added, resolve } = Promise.withResolvers<V1Lease>()
    informer.on('add', resolve)
    const connected = Promise.withResolvers<void>()
    informer.on('connect', () => connected.resolve())
    await informer.start()
    await connected.promise
    await leases.createNamespacedLease({ namespace, body: { metadata: { name: 'followed' } } })
    expect((await added).metadata?.name).toBe('followed')
    await informer.stop()
  })
})
