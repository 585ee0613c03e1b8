import { KubeConfig } from '@kubernetes/client-node'
import type { Lock } from '@tenure/core'
import { LeaseClient } from '@tenure/kubernetes/internal'
import { lockConformance } from '@tenure/testing/lock-conformance'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ApiServerUnderTest, startApiServerUnderTest } from './api-server-under-test.ts'
import { withServer } from '../scenarios/kube-config-text.ts'
import { TcpProxy } from '../scenarios/tcp-proxy.ts'
import { MERGE_PATCH } from './contract-client.ts'
import { LOCK_KINDS, type LockAddress } from './lock-kinds.ts'

let server: ApiServerUnderTest
let direct: string
let serverUrl: string
let namespace: string
let serial = 0

beforeAll(async () => {
  server = await startApiServerUnderTest()
  direct = server.kubeConfig({ name: 'locks-admin', groups: ['system:masters'] })
  const kubeConfig = new KubeConfig()
  kubeConfig.loadFromString(direct)
  serverUrl = kubeConfig.getCurrentCluster()?.server ?? ''
  namespace = await server.createNamespace()
})

afterAll(async () => server[Symbol.asyncDispose]())

function pathOf(collection: string, name: string): string {
  const root = collection === 'leases' ? '/apis/coordination.k8s.io/v1' : '/api/v1'
  return `${root}/namespaces/${namespace}/${collection}/${name}`
}

/** What people and other clients put on such objects. */
const FOREIGN: Readonly<Record<string, object>> = {
  leases: { spec: { strategy: 'OldestEmulationVersion', preferredHolder: 'b' } },
  configmaps: { data: { setting: 'keep me' } },
  endpoints: { subsets: [{ addresses: [{ ip: '10.1.2.3' }], ports: [{ port: 443, protocol: 'TCP' }] }] },
}

const NOTED = { metadata: { labels: { team: 'ops' }, annotations: { 'example.com/note': 'keep me' } } }

describe.each(Object.entries(LOCK_KINDS))('a %s', (kind, { open, collections }) => {
  async function createFixture() {
    const name = `lock-${(serial += 1)}`
    const proxy = await TcpProxy.start(serverUrl)
    const text = withServer(direct, proxy.url)
    const kubeConfig = new KubeConfig()
    kubeConfig.loadFromString(text)
    const client = new LeaseClient({ kubeConfig })
    const locks: Lock[] = []
    return {
      name,
      text,
      proxy,
      openLock: () => {
        const lock = open({ client, name, namespace })
        locks.push(lock)
        return lock
      },
      deleteLease: async () => {
        for (const collection of collections) await server.admin.delete(pathOf(collection, name))
      },
      [Symbol.asyncDispose]: async () => {
        await Promise.all(locks.map((lock) => lock.close()))
        await client.close()
        await proxy[Symbol.asyncDispose]()
      },
    }
  }

  const cases = lockConformance({
    createFixture,
    otherProcess: ({ name, text }) => ({
      module: new URL('lock-kinds.ts', import.meta.url),
      argument: { kind, kubeConfig: text, name, namespace } satisfies LockAddress,
      execArgv: ['--conditions=@tenure/source'],
    }),
    outage: { begin: ({ proxy }) => proxy.cut(), end: ({ proxy }) => proxy.restore() },
    foreignData: {
      put: async ({ name }) => {
        for (const collection of collections) {
          const body = { ...NOTED, ...FOREIGN[collection] }
          const { status } = await server.admin.patch(pathOf(collection, name), MERGE_PATCH, body)
          expect(status).toBe(200)
        }
      },
      read: async ({ name }) => {
        const stored = []
        for (const collection of collections) {
          const { body } = await server.admin.get(pathOf(collection, name))
          expect(body).toMatchObject({ ...NOTED, ...FOREIGN[collection] })
          stored.push(collection)
        }
        return stored
      },
    },
  })
  for (const { name, run } of cases) test(name, run)
})
