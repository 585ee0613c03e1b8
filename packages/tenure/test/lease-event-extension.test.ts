import { KubeConfig } from '@kubernetes/client-node'
import type { CandidacyEvent, ExtensionHost } from '@tenure/core'
import { silentLogger } from '@tenure/core/internal'
import { ApiTransport, LeaseEvents } from '@tenure/kubernetes/internal'
import { afterEach, expect, test, vi } from 'vitest'
import type { Cluster } from '../src/cluster.ts'
import { leaseEvents } from '../src/lease-event-extension.ts'

vi.mock('@tenure/kubernetes/internal', { spy: true })

afterEach(() => void vi.restoreAllMocks())

const access = new KubeConfig()
access.loadFromClusterAndUser({ name: 'api', server: 'http://127.0.0.1:7001', skipTLSVerify: false }, { name: 'user' })

/** The writer of Events of these leases, and what it records. */
async function recording(...leases: readonly string[]) {
  vi.mocked(LeaseEvents).mockClear()
  vi.mocked(ApiTransport).mockClear()
  const recorded: unknown[] = []
  const record = (what: string) =>
    function take(this: LeaseEvents, ...more: readonly unknown[]): void {
      const made = vi.mocked(LeaseEvents).mock.instances.indexOf(this)
      recorded.push([vi.mocked(LeaseEvents).mock.calls[made]?.[0].name, what, ...more])
    }
  vi.spyOn(LeaseEvents.prototype, 'becameLeader').mockImplementation(record('became leader'))
  vi.spyOn(LeaseEvents.prototype, 'stoppedLeading').mockImplementation(record('stopped leading'))
  const extension = leaseEvents({
    cluster: { access, namespaceOf: ({ name }: { name: string }) => `of-${name}` } as unknown as Cluster,
    identity: 'me',
    logger: silentLogger,
  })
  const candidacies = leases.map((name) => ({ leaseOptions: { name } }))
  await extension.start?.({ candidacies } as unknown as ExtensionHost)
  const observe = (event: object) => extension.onEvent?.(event as CandidacyEvent)
  return { extension, recorded, observe }
}

test('The writer of Events has a recorder for each lease, and one transport for all of them', async () => {
  const { extension } = await recording('a', 'b')
  expect(extension.name).toBe('lease-events')
  expect(ApiTransport).toHaveBeenCalledExactlyOnceWith({ kubeConfig: access })
  const shared = { kubeConfig: access, transport: expect.any(ApiTransport), identity: 'me', logger: silentLogger }
  expect(vi.mocked(LeaseEvents).mock.calls).toEqual([
    [{ ...shared, name: 'a', namespace: 'of-a' }],
    [{ ...shared, name: 'b', namespace: 'of-b' }],
  ])
  await extension.stop?.()
})

test('The writer of Events has stopped when its connections are closed', async () => {
  const { extension } = await recording('a')
  const closing = Promise.withResolvers<void>()
  const close = vi.spyOn(ApiTransport.prototype, 'close').mockReturnValueOnce(closing.promise)
  let hasStopped = false
  const stopping = Promise.resolve(extension.stop?.()).then(() => (hasStopped = true))
  await new Promise(setImmediate)
  expect([close.mock.calls.length, hasStopped]).toEqual([1, false])
  closing.resolve()
  await stopping
})

test('The writer of Events records the beginning and the end of a term on its lease, and nothing else', async () => {
  const { extension, recorded, observe } = await recording('a', 'b')
  observe({ kind: 'term-began', lease: 'b', epoch: 7n })
  observe({ kind: 'renewed', lease: 'b' })
  observe({ kind: 'term-ending', lease: 'b', epoch: 7n })
  observe({ kind: 'term-over', lease: 'b', epoch: 7n })
  observe({ kind: 'term-began', lease: 'unknown', epoch: 8n })
  observe({ kind: 'term-over', lease: 'unknown', epoch: 8n })
  expect(recorded).toEqual([
    ['b', 'became leader', undefined, 7n],
    ['b', 'stopped leading'],
  ])
  await extension.stop?.()
  observe({ kind: 'term-began', lease: 'b', epoch: 9n })
  expect(recorded).toHaveLength(2)
})

test('The writer of Events waits at its stop for every lease, and then closes the connections', async () => {
  const { extension } = await recording('a', 'b')
  const closed: string[] = []
  vi.spyOn(LeaseEvents.prototype, 'close').mockImplementation(async () => void closed.push('lease'))
  const closeTransport = vi.spyOn(ApiTransport.prototype, 'close')
  closeTransport.mockImplementation(async () => void closed.push('connections'))
  await extension.stop?.()
  expect(closed).toEqual(['lease', 'lease', 'connections'])
})

test('The writer of Events has nothing to close if it was not started', async () => {
  const extension = leaseEvents({ cluster: { access } as unknown as Cluster, identity: 'me', logger: silentLogger })
  await expect(extension.stop?.()).resolves.toBeUndefined()
})
