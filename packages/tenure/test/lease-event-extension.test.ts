import { KubeConfig } from '@kubernetes/client-node'
import type { ExtensionHost } from '@tenure/core'
import { silentLogger } from '@tenure/core/internal'
import { ApiTransport, LeaseEvents } from '@tenure/kubernetes/internal'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Cluster } from '../src/cluster.ts'
import { leaseEvents } from '../src/lease-event-extension.ts'

test('The writer of Events waits at its stop for every lease, and then closes the connections', async () => {
  onTestFinished(() => void vi.restoreAllMocks())
  const closed: string[] = []
  vi.spyOn(LeaseEvents.prototype, 'close').mockImplementation(async () => void closed.push('lease'))
  const closeTransport = vi.spyOn(ApiTransport.prototype, 'close')
  closeTransport.mockImplementation(async () => void closed.push('connections'))
  const access = new KubeConfig()
  const cluster = { name: 'api', server: 'http://127.0.0.1:7001', skipTLSVerify: false }
  access.loadFromClusterAndUser(cluster, { name: 'user' })
  const extension = leaseEvents({
    cluster: { access, namespaceOf: () => 'ops' } as unknown as Cluster,
    identity: 'a',
    logger: silentLogger,
  })
  const candidacies = ['a', 'b'].map((name) => ({ leaseOptions: { name } }))
  await extension.start?.({ candidacies } as unknown as ExtensionHost)
  await extension.stop?.()
  expect(closed).toEqual(['lease', 'lease', 'connections'])
})
