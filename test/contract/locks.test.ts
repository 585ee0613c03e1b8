import { KubeConfig } from '@kubernetes/client-node'
import { type Lock, MultiLock } from '@tenure/core'
import { ConfigMapLock, EndpointsLock, LeaseClient, LeaseLock } from '@tenure/kubernetes'
import { lockConformance } from '@tenure/testing/lock-conformance'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ApiServerUnderTest, startApiServerUnderTest } from './api-server-under-test.ts'
import { MERGE_PATCH } from './contract-client.ts'

let server: ApiServerUnderTest
let kubeConfig: KubeConfig
let namespace: string
let serial = 0

beforeAll(async () => {
  server = await startApiServerUnderTest()
  kubeConfig = new KubeConfig()
  kubeConfig.loadFromString(server.kubeConfig({ name: 'locks-admin', groups: ['system:masters'] }))
  namespace = await server.createNamespace()
})

afterAll(async () => server[Symbol.asyncDispose]())

type OpenLock = (options: { readonly client: LeaseClient; readonly name: string; readonly namespace: string }) => Lock

const kinds: Record<string, { readonly open: OpenLock; readonly collections: readonly string[] }> = {
  LeaseLock: { open: (options) => new LeaseLock(options), collections: ['leases'] },
  ConfigMapLock: { open: (options) => new ConfigMapLock(options), collections: ['configmaps'] },
  EndpointsLock: { open: (options) => new EndpointsLock(options), collections: ['endpoints'] },
  'MultiLock of a ConfigMapLock and a LeaseLock': {
    open: (options) => new MultiLock(new ConfigMapLock(options), new LeaseLock(options)),
    collections: ['configmaps', 'leases'],
  },
  'MultiLock of an EndpointsLock and a LeaseLock': {
    open: (options) => new MultiLock(new EndpointsLock(options), new LeaseLock(options)),
    collections: ['endpoints', 'leases'],
  },
}

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

describe.each(Object.entries(kinds))('a %s', (_name, { open, collections }) => {
  async function createFixture() {
    const name = `lock-${(serial += 1)}`
    const client = new LeaseClient({ kubeConfig })
    const locks: Lock[] = []
    return {
      name,
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
      },
    }
  }

  const cases = lockConformance({
    createFixture,
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
