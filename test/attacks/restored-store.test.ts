import { KubeConfig, type V1ConfigMap } from '@kubernetes/client-node'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type LockSnapshot, Manager, MemoryLeaseStore, type Term } from '@tenure/core'
import { informer, LeaseLock, type ObjectChange } from '@tenure/kubernetes'
import { LeaseClient } from '@tenure/kubernetes/internal'
import { openRealApiServer } from '../scenarios/api-server.ts'
import { Journal } from '../scenarios/journal.ts'
import { Scenario } from '../scenarios/scenario.ts'
import { ScriptedReplica } from '../scenarios/scripted-replica.ts'
import { STEADY } from '../scenarios/timings.ts'

let server: Awaited<ReturnType<typeof openRealApiServer>>
beforeAll(async () => {
  server = await openRealApiServer()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

async function replica(scenario: Scenario, identity: string): Promise<ScriptedReplica> {
  return new ScriptedReplica(scenario, { identity, kubeConfig: server.kubeConfig(scenario.userOf(identity)) })
}

/** Replicas of one lease, and whether two of them ever held it at one instant. */
async function fleet(scenario: Scenario, identities: readonly string[]) {
  // Before any backup is made, so that a restore does not take the rights away.
  for (const identity of [...identities, 'late']) await scenario.grant(identity)
  const replicas = await Promise.all(identities.map((identity) => replica(scenario, identity)))
  let overlaps = 0
  const watching = setInterval(() => {
    if (replicas.filter(({ terms }) => terms.at(-1)?.isHeld() === true).length > 1) overlaps += 1
  }, 1)
  return {
    replicas,
    overlaps: () => overlaps,
    /** The next term of anybody that begins with a greater epoch. */
    leads: async (above: bigint): Promise<bigint> => {
      const terms = replicas.map((one) =>
        one.events.waitFor('a greater epoch', (seen) => seen.kind === 'term-began' && seen.epoch > above),
      )
      const first = await Promise.race(terms)
      for (const term of terms) term.catch(() => {})
      return first.kind === 'term-began' ? first.epoch : 0n
    },
    [Symbol.asyncDispose]: async () => {
      clearInterval(watching)
      await Promise.all(replicas.map((one) => one[Symbol.asyncDispose]()))
    },
  }
}

const leaderOf = (replicas: readonly ScriptedReplica[]) =>
  replicas.find(({ manager }) => manager.state.kind === 'leading')

describe('after a restore of etcd from a backup, a fleet', () => {
  it('has a leader again within a lease duration, one at a time, with an epoch that grows over what the backup forgot', async () => {
    await using scenario = await Scenario.open(server)
    await using replicas = await fleet(scenario, ['alpha', 'beta'])
    const first = await replicas.leads(0n)
    const backup = await server.controlPlane.backUpEtcd()
    // A later term, of which the backup knows nothing.
    const from = leaderOf(replicas.replicas)
    await from?.candidacy.stepDown()
    const second = await replicas.leads(first)

    await server.controlPlane.restoreEtcd(backup)

    const restoredAt = performance.now()
    const third = await replicas.leads(second)
    expect(performance.now() - restoredAt).toBeLessThan(1.5 * STEADY.leaseDurationMs)
    expect(third).toBeGreaterThan(second)
    expect(replicas.overlaps()).toBe(0)
  })

  it('keeps its leader, who goes on from the restored version, where the backup has its term', async () => {
    await using scenario = await Scenario.open(server)
    await using replicas = await fleet(scenario, ['alpha', 'beta'])
    await replicas.leads(0n)
    const leader = leaderOf(replicas.replicas)
    const backup = await server.controlPlane.backUpEtcd()
    const writes = leader?.writes.length ?? 0
    await leader?.events.waitFor('more renewals', () => (leader?.writes.length ?? 0) > writes + 4)

    await server.controlPlane.restoreEtcd(backup)

    const acted = leader?.events.length ?? 0
    const again = await Promise.race(
      replicas.replicas.map((one) =>
        one.events.waitFor('a renewal', (seen) => seen.kind === 'renewed', { from: one === leader ? acted : 0 }),
      ),
    )
    expect(again.kind).toBe('renewed')
    expect(replicas.overlaps()).toBe(0)
  })

  it('reminds a replica that knows nothing of the past of the epochs that it remembers itself', async () => {
    await using scenario = await Scenario.open(server)
    await using replicas = await fleet(scenario, ['alpha', 'beta'])
    const first = await replicas.leads(0n)
    // With the second term in it, the backup would have nothing to forget.
    const backup = await server.controlPlane.backUpEtcd()
    await leaderOf(replicas.replicas)?.candidacy.stepDown({ cooldownMs: 0 })
    const second = await replicas.leads(first)

    await server.controlPlane.restoreEtcd(backup)

    await using late = await replica(scenario, 'late')
    const latest = await Promise.race([
      late.events.waitFor('a greater epoch', (seen) => seen.kind === 'term-began' && seen.epoch > second),
      ...replicas.replicas.map((one) =>
        one.events.waitFor('a greater epoch', (seen) => seen.kind === 'term-began' && seen.epoch > second),
      ),
    ])
    expect(latest.kind).toBe('term-began')
  })
})

describe('after a restore of etcd from a backup, a watch', () => {
  it('of one lease, or shared by several leases, shows the restored lease and every change from then on', async () => {
    await using scenario = await Scenario.open(server)
    await scenario.createLease('before', 15)
    const backup = await server.controlPlane.backUpEtcd()
    const kubeConfig = new KubeConfig()
    kubeConfig.loadFromString(server.controlPlane.adminKubeConfig())
    const { namespace, leaseName } = scenario
    const shared = new LeaseClient({ kubeConfig })
    const locks = [
      new LeaseLock({ kubeConfig, name: leaseName, namespace, silenceMs: 1000 }),
      ...[leaseName, 'another'].map((name) => new LeaseLock({ client: shared, name, namespace, silenceMs: 1000 })),
    ]
    const journals = locks.map((lock) => watch(lock))
    for (const holder of ['forgotten', 'forgotten too']) await scenario.seizeLease(holder)
    for (const journal of journals.slice(0, 2)) await journal.waitFor('the last holder', shows('forgotten too'))

    const at = journals.map((journal) => journal.length)

    await server.controlPlane.restoreEtcd(backup)

    for (const [index, journal] of journals.slice(0, 2).entries()) {
      await journal.waitFor('the restored holder', shows('before'), { from: at[index] ?? 0 })
    }
    await scenario.seizeLease('after')
    for (const journal of journals.slice(0, 2)) await journal.waitFor('the next holder', shows('after'))
    await Promise.all([...locks.map((lock) => lock.close()), shared.close()])
  })
})

function watch(lock: LeaseLock): Journal<LockSnapshot> {
  const journal = new Journal<LockSnapshot>(lock.description)
  lock.watch({ changed: (snapshot) => journal.record(snapshot), up: () => {}, down: () => {} })
  return journal
}

const shows = (holder: string) => (snapshot: LockSnapshot) =>
  snapshot.kind === 'present' && snapshot.record.holderIdentity === holder

describe('after a restore of etcd from a backup, an informer', () => {
  it('serves what the backup has, and every change from then on', async () => {
    await using scenario = await Scenario.open(server)
    await using leader = await leaderElsewhere()
    const path = `/api/v1/namespaces/${scenario.namespace}/configmaps`
    const write = (method: 'POST' | 'PUT', name: string, value: string) =>
      server.admin.expect(method === 'POST' ? path : `${path}/${name}`, {
        method,
        body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { value } },
      })
    await write('POST', 'kept', 'before')
    await write('POST', 'deleted', 'before')
    const backup = await server.controlPlane.backUpEtcd()
    const kubeConfig = new KubeConfig()
    kubeConfig.loadFromString(server.controlPlane.adminKubeConfig())
    const changes = new Journal<ObjectChange<V1ConfigMap>>('the informer')
    const onChange = (change: ObjectChange<V1ConfigMap>) => changes.record(change)
    const configMaps = informer<V1ConfigMap>(leader.term, { kubeConfig, path, onChange })
    const values = () =>
      Object.fromEntries(
        ['kept', 'deleted', 'forgotten'].map((name) => [
          name,
          configMaps.get(name, scenario.namespace)?.data?.['value'],
        ]),
      )
    await configMaps.synced
    await write('PUT', 'kept', 'after')
    await write('POST', 'forgotten', 'after')
    await server.admin.expect(`${path}/deleted`, { method: 'DELETE' })
    await changes.waitFor('the deletion', ({ kind }) => kind === 'deleted')
    expect(values()).toEqual({ kept: 'after', forgotten: 'after', deleted: undefined })

    await server.controlPlane.restoreEtcd(backup)

    const isRestored = () => JSON.stringify(values()) === JSON.stringify({ kept: 'before', deleted: 'before' })
    await changes.waitFor('the restored content', isRestored)
    await write('PUT', 'kept', 'later')
    await changes.waitFor('a later change', () => values()['kept'] === 'later')
  })
})

/** A leader of a lease that is not in the store which is restored. */
async function leaderElsewhere() {
  const store = new MemoryLeaseStore()
  const manager = new Manager({
    identity: 'me',
    lease: { name: 'elsewhere' },
    createLock: () => store.lock('elsewhere'),
  })
  const began = Promise.withResolvers<Term>()
  const run = async (term: Term) => {
    began.resolve(term)
    await term.sleep(86_400_000)
  }
  manager.register(() => ({ name: 'informed', run }))
  const running = manager.start()
  return {
    term: await began.promise,
    [Symbol.asyncDispose]: async () => {
      await manager.stop()
      await running
    },
  }
}
