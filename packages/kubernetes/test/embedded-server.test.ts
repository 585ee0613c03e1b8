import { CoreV1Api, KubeConfig } from '@kubernetes/client-node'
import { LeadershipEndedError, WriteGateClosedError } from '@tenure/core'
import type { ApiServer } from '@tenure/api-server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { lockConformance } from '../../testing/src/lock-conformance/index.ts'
import { withServer } from '../../../test/scenarios/kube-config-text.ts'
import { TcpProxy } from '../../../test/scenarios/tcp-proxy.ts'
import { LeaseEvents } from '../src/events/lease-events.ts'
import { gated } from '../src/gate/gated.ts'
import { LeaseLock } from '../src/locks/lease/lease-lock.ts'
import { leaseRole } from '../src/manifests/lease-role.ts'
import { EmbeddedCluster } from './support/embedded-cluster.ts'
import { record } from './support/lease-record.ts'
import { ManualClock } from './support/manual-clock.ts'
import { WatchLog } from './support/watch-log.ts'

const unaborted = { signal: new AbortController().signal }
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/ops/leases'

let cluster: EmbeddedCluster
let server: ApiServer
let serial = 0

beforeAll(async () => {
  cluster = await EmbeddedCluster.start('ops', {
    featureGates: { CoordinatedLeaderElection: true },
    runtimeConfig: { 'coordination.k8s.io/v1beta1': true },
  })
  server = cluster.server
})

afterAll(() => cluster.stop())

/** A user who may do what the documented Role allows on one lease, and nothing else. */
async function replica() {
  const name = `lease-${++serial}`
  const user = `replica-${serial}`
  const subjects = [{ kind: 'User', name: user, apiGroup: 'rbac.authorization.k8s.io' }]
  const { role, roleBinding } = leaseRole({ name, namespace: 'ops', subjects })
  await cluster.asAdmin('POST', '/apis/rbac.authorization.k8s.io/v1/namespaces/ops/roles', role)
  await cluster.asAdmin('POST', '/apis/rbac.authorization.k8s.io/v1/namespaces/ops/rolebindings', roleBinding)
  return { name, user, kubeConfig: cluster.kubeConfig(user) }
}

async function createFixture() {
  const { name, user, kubeConfig: direct } = await replica()
  const proxy = await TcpProxy.start(server.url)
  const text = withServer(direct.exportConfig(), proxy.url)
  const kubeConfig = new KubeConfig()
  kubeConfig.loadFromString(text)
  const locks: LeaseLock[] = []
  return {
    name,
    user,
    kubeConfig,
    text,
    proxy,
    openLock(options: { readonly silenceMs?: number; readonly clock?: ManualClock } = {}): LeaseLock {
      const lock = new LeaseLock({ kubeConfig, name, namespace: 'ops', ...options })
      locks.push(lock)
      return lock
    },
    deleteLease: async () => void (await cluster.asAdmin('DELETE', `${LEASES}/${name}`)),
    [Symbol.asyncDispose]: async () => {
      await Promise.all(locks.map((lock) => lock.close()))
      await proxy[Symbol.asyncDispose]()
    },
  }
}

const foreign = {
  metadata: {
    labels: { team: 'ops' },
    annotations: { 'example.com/note': 'keep' },
    ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u-1' }],
  },
  spec: { strategy: 'OldestEmulationVersion', preferredHolder: 'b' },
}

describe('a LeaseLock, with no more rights than the documented Role gives', () => {
  const cases = lockConformance({
    createFixture,
    otherProcess: ({ text, name }) => ({
      module: new URL('support/open-lease-lock.ts', import.meta.url),
      argument: { text, name },
      execArgv: ['--conditions=@tenure/source'],
    }),
    outage: { begin: ({ proxy }) => proxy.cut(), end: ({ proxy }) => proxy.restore() },
    lateMs: 100,
    foreignData: {
      put: async ({ name }) => void (await cluster.asAdmin('PATCH', `${LEASES}/${name}`, foreign)),
      read: async ({ name }) => {
        const stored = await cluster.asAdmin('GET', `${LEASES}/${name}`)
        expect(stored).toMatchObject(foreign)
        return foreign
      },
    },
  })
  for (const { name, run } of cases) test(name, run)
})

describe('a LeaseLock, on a network with faults', () => {
  test('does not know the outcome of a write whose answer is lost, though it has happened', async () => {
    await using fixture = await createFixture()
    const lock = fixture.openLock()
    const lease = await lock.create(record, unaborted)
    const match = { user: fixture.user, verb: 'update' }
    server.faults.add({ match, effect: { kind: 'drop-after' }, times: 1 })
    const write = lock.update(lease, { ...record, leaseTransitions: 1 }, unaborted)
    await expect(write).rejects.toMatchObject({ failure: 'unknown-outcome' })
    expect(await lock.get(unaborted)).toMatchObject({ record: { leaseTransitions: 1 } })
  })

  test('does not know the outcome of a write that was lost on the way, though it has not happened', async () => {
    await using fixture = await createFixture()
    const lock = fixture.openLock()
    const lease = await lock.create(record, unaborted)
    const match = { user: fixture.user, verb: 'update' }
    server.faults.add({ match, effect: { kind: 'drop-before' }, times: 1 })
    const write = lock.update(lease, { ...record, leaseTransitions: 1 }, unaborted)
    await expect(write).rejects.toMatchObject({ failure: 'unknown-outcome' })
    expect(await lock.get(unaborted)).toMatchObject({ record: { leaseTransitions: 0 } })
  })

  test('stops waiting for a server that is silent when the signal aborts, and goes on over a fresh connection', async () => {
    await using fixture = await createFixture()
    const lock = fixture.openLock()
    const lease = await lock.create(record, unaborted)
    const match = { user: fixture.user, verb: 'update' }
    server.faults.add({ match, effect: { kind: 'black-hole' }, times: 1 })
    const signal = AbortSignal.timeout(50)
    await expect(lock.update(lease, record, { signal })).rejects.toMatchObject({
      failure: 'unknown-outcome',
      cause: { name: 'TimeoutError' },
    })
    expect((await lock.update(lease, { ...record, leaseTransitions: 1 }, unaborted)).version).toBeGreaterThan(
      lease.version,
    )
  })

  test('makes one request for each call and no other', async () => {
    await using fixture = await createFixture()
    const lock = fixture.openLock()
    const lease = await lock.create(record, unaborted)
    await lock.update(lease, record, unaborted)
    await lock.get(unaborted)
    const requests = server.requests.find({ user: fixture.user })
    expect(requests.map(({ verb }) => verb)).toEqual(['create', 'update', 'get'])
  })
})

describe('a watch of a LeaseLock, on a network with faults', () => {
  test('loses no change when its connection is cut', async () => {
    await using fixture = await createFixture()
    const lock = fixture.openLock()
    const first = await lock.create(record, unaborted)
    const log = new WatchLog()
    lock.watch(log)
    await log.until(2)
    server.faults.closeWatches({ match: { user: fixture.user }, abruptly: true })
    const second = await lock.update(first, { ...record, holderIdentity: 'b' }, unaborted)
    await log.until(5)
    expect(log.lines.slice(0, 2)).toEqual([`present@${first.version} a`, 'up'])
    expect(log.lines.slice(2).sort()).toEqual(['down', `present@${second.version} b`, 'up'].sort())
    expect(server.requests.count({ user: fixture.user, verb: 'list' })).toBe(1)
  })

  test('notices that it went silent while the lease changed, reports the change, and reconnects', async () => {
    await using fixture = await createFixture()
    const clock = new ManualClock()
    const lock = fixture.openLock({ silenceMs: 200, clock })
    const first = await lock.create(record, unaborted)
    const log = new WatchLog()
    lock.watch(log)
    await log.until(2)
    const silence = server.faults.silenceWatches({ user: fixture.user })
    const second = await lock.update(first, { ...record, holderIdentity: 'b' }, unaborted)
    clock.advance(125)
    await log.until(5)
    while (log.lines.length < 6) {
      await new Promise((resolve) => setImmediate(resolve))
      clock.advance(1)
    }
    expect(clock.now()).toBeLessThanOrEqual(200)
    await log.until(7)
    const skipping = ['down', `present@${second.version} b`, 'up']
    expect(log.lines).toEqual([`present@${first.version} a`, 'up', ...skipping, 'down', 'up'])
    silence.remove()
  })
})

describe('what goes with a LeaseLock', () => {
  test('events are recorded with the rights that the documented Role gives', async () => {
    await using fixture = await createFixture()
    const lease = await fixture.openLock().create(record, unaborted)
    const { name, kubeConfig } = fixture
    const events = new LeaseEvents({ kubeConfig, name, namespace: 'ops', identity: 'me' })
    events.becameLeader(lease)
    events.stoppedLeading(lease)
    events.becameLeader(lease)
    await events.close()
    const { items } = await cluster.kubeConfig().makeApiClient(CoreV1Api).listNamespacedEvent({ namespace: 'ops' })
    const mine = items.filter((event) => event.involvedObject.name === name)
    expect(mine.map(({ message, count }) => `${message}: ${count}`).sort()).toEqual([
      'me became leader: 2',
      'me stopped leading: 1',
    ])
    expect(mine[0]?.involvedObject.resourceVersion).toBe(String(lease.version))
  })

  test('a gated client writes over TLS while the term lasts, and not a moment longer', async () => {
    const gate = new AbortController()
    const term = { epoch: 7n, isHeld: () => true, gateSignal: gate.signal }
    const client = gated(term, cluster.kubeConfig()).makeApiClient(CoreV1Api)
    const body = { metadata: { generateName: 'written-while-held-' } }
    const written = await client.createNamespacedConfigMap({ namespace: 'ops', body })
    gate.abort(new LeadershipEndedError('shutdown', 7n))
    const late = client.createNamespacedConfigMap({ namespace: 'ops', body: { metadata: { name: 'too-late' } } })
    await expect(late).rejects.toBeInstanceOf(WriteGateClosedError)
    const { items } = await client.listNamespacedConfigMap({ namespace: 'ops' })
    const names = items.map(({ metadata }) => metadata?.name)
    expect(names).toContain(written.metadata?.name)
    expect(names).not.toContain('too-late')
  })
})
