import { KubeConfig } from '@kubernetes/client-node'
import type { Lock } from '@tenure/core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { withServer } from '../../../test/scenarios/kube-config-text.ts'
import { TcpProxy } from '../../../test/scenarios/tcp-proxy.ts'
import { lockConformance } from '../../testing/src/lock-conformance/index.ts'
import { lifeLock } from '../src/locks/life/life-lock.ts'
import { EmbeddedCluster } from './support/embedded-cluster.ts'
import { grantLife, postPod } from './support/life-cluster.ts'

const CONFIG_MAPS = '/api/v1/namespaces/ops/configmaps'
const foreign = {
  metadata: { labels: { team: 'ops' }, annotations: { 'example.com/note': 'keep' } },
  data: { note: 'keep' },
}

let cluster: EmbeddedCluster
let serial = 0

beforeAll(async () => {
  cluster = await EmbeddedCluster.start()
})

afterAll(() => cluster.stop())

async function createFixture() {
  const name = `life-${++serial}`
  await grantLife(cluster, { name, user: name })
  await postPod(cluster, `${name}-pod`)
  const proxy = await TcpProxy.start(cluster.server.url)
  const text = withServer(cluster.kubeConfig(name).exportConfig(), proxy.url)
  const kubeConfig = new KubeConfig()
  kubeConfig.loadFromString(text)
  const locks: Lock[] = []
  return {
    name,
    text,
    proxy,
    openLock(): Lock {
      const lock = lifeLock({ kubeConfig, name, namespace: 'ops', pod: `${name}-pod` })
      locks.push(lock)
      return lock
    },
    deleteLease: async () => void (await cluster.asAdmin('DELETE', `${CONFIG_MAPS}/${name}`)),
    [Symbol.asyncDispose]: async () => {
      await Promise.all(locks.map((lock) => lock.close()))
      await proxy[Symbol.asyncDispose]()
    },
  }
}

describe('a lock for life, with no more rights than the documented Role gives', () => {
  const cases = lockConformance({
    createFixture,
    otherProcess: ({ text, name }) => ({
      module: new URL('support/open-life-lock.ts', import.meta.url),
      argument: { text, name },
      execArgv: ['--conditions=@tenure/source'],
    }),
    outage: { begin: ({ proxy }) => proxy.cut(), end: ({ proxy }) => proxy.restore() },
    lateMs: 100,
    foreignData: {
      put: async ({ name }) => void (await cluster.asAdmin('PATCH', `${CONFIG_MAPS}/${name}`, foreign)),
      read: async ({ name }) => {
        expect(await cluster.asAdmin('GET', `${CONFIG_MAPS}/${name}`)).toMatchObject(foreign)
        return foreign
      },
    },
  })
  for (const { name, run } of cases) test(name, run)
})
