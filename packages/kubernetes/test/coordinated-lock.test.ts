import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Clock, Controller, Manager, type Term } from '@tenure/core'
import { formatMicroTime, systemClock, systemRandom } from '@tenure/core/internal'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { CoordinatedLock, type CoordinatedLockOptions } from '../src/coordinated/coordinated-lock.ts'
import { LeaseClient } from '../src/locks/lease/lease-client.ts'
import type { DeathProof } from '../src/locks/death-proof.ts'
import { leaseRole } from '../src/manifests/lease-role.ts'
import { EmbeddedCluster } from './support/embedded-cluster.ts'
import { type Line, recordingLogger } from './support/recording-logger.ts'

/*
 * Managers that stand for a lease of the embedded API server, whose election controller decides. Real time: elections take milliseconds.
 */

const LEASE = '/apis/coordination.k8s.io/v1/namespaces/ops/leases/job'
const CANDIDATES = '/apis/coordination.k8s.io/v1beta1/namespaces/ops/leasecandidates'
const ON = {
  featureGates: { CoordinatedLeaderElection: true },
  runtimeConfig: { 'coordination.k8s.io/v1beta1': true },
} as const

let cluster: EmbeddedCluster
let replicas: Replica[]

beforeEach(() => {
  replicas = []
})

afterEach(async () => {
  await Promise.all(replicas.map((replica) => replica.stop()))
  await cluster.stop()
})

type Spec = Readonly<Record<string, unknown>>
const specOf = async (path: string): Promise<Spec> =>
  ((await cluster.asAdmin('GET', path)) as { readonly spec: Spec }).spec
const candidates = async (): Promise<readonly string[]> => {
  const { items } = (await cluster.asAdmin('GET', CANDIDATES)) as {
    readonly items: readonly { readonly metadata: { readonly name: string } }[]
  }
  return items.map(({ metadata }) => metadata.name)
}
const createdAt = async (name: string): Promise<string> => {
  const object = await cluster.asAdmin('GET', `${CANDIDATES}/${name}`)
  return (object as { readonly metadata: { readonly creationTimestamp: string } }).metadata.creationTimestamp
}
const addCandidate = (name: string, spec: Spec): Promise<unknown> =>
  cluster.asAdmin('POST', CANDIDATES, {
    apiVersion: 'coordination.k8s.io/v1beta1',
    kind: 'LeaseCandidate',
    metadata: { name },
    spec: { ...spec, strategy: 'OldestEmulationVersion', renewTime: formatMicroTime(systemClock.wallTime()) },
  })
const until = <T>(assert: () => T | Promise<T>): Promise<T> => vi.waitFor(assert, { timeout: 10_000, interval: 5 })

class Replica {
  readonly identity: string
  readonly lines: Line[] = []
  readonly terms: number[] = []
  readonly manager: Manager
  readonly #running: Promise<void>

  constructor(
    identity: string,
    { version = '1.36.0', run, ...options }: Partial<CoordinatedLockOptions> & { version?: string; run?: Run } = {},
  ) {
    this.identity = identity
    const { terms } = this
    const logger = recordingLogger(this.lines)
    this.manager = new Manager({
      identity,
      lease: { name: 'job', strategy: 'OldestEmulationVersion', binaryVersion: '1.36.0', emulationVersion: version },
      createLock: () =>
        new CoordinatedLock({
          ...(options.client === undefined && { kubeConfig: cluster.kubeConfig() }),
          name: 'job',
          namespace: 'ops',
          identity,
          facts: { binaryVersion: '1.36.0', emulationVersion: version },
          leaseDurationMs: 15_000,
          coordination: 'auto',
          clock: systemClock,
          random: systemRandom,
          logger,
          ...options,
        }),
      logger,
    })
    this.manager.register(
      () =>
        new (class extends Controller {
          readonly name = 'work'
          async run(term: Term): Promise<void> {
            terms.push(performance.now())
            await run?.(term)
            await term.every(60_000, () => {})
          }
        })(),
    )
    this.#running = this.manager.start()
    replicas.push(this)
  }

  get isLeading(): boolean {
    return this.manager.state.kind === 'leading'
  }

  async stop(): Promise<void> {
    await this.manager.stop()
    await this.#running
  }
}

type Run = (term: Term) => Promise<void>

const untilLeads = (replica: Replica): Promise<void> => until(() => expect(replica.isLeading).toBe(true))

/** The holder that the lease names once it prefers nobody: the preferred one, if the leader has made way for it. */
const holderWithoutPreference = (): Promise<unknown> =>
  until(async () => {
    const { preferredHolder, holderIdentity } = await specOf(LEASE)
    expect(preferredHolder ?? '').toBe('')
    return holderIdentity
  })

describe('under an election controller', () => {
  beforeEach(async () => {
    cluster = await EmbeddedCluster.start('ops', ON)
  })

  it('a replica is named, acquires the lease and keeps its strategy', async () => {
    const only = new Replica('only')
    await untilLeads(only)
    expect(await specOf(LEASE)).toMatchObject({
      holderIdentity: 'only',
      strategy: 'OldestEmulationVersion',
      leaseDurationSeconds: 15,
    })
    expect(await specOf(`${CANDIDATES}/only`)).toMatchObject({
      leaseName: 'job',
      emulationVersion: '1.36.0',
      renewTime: expect.stringMatching(/\.\d{6}Z$/) as string,
    })
  })

  it('a follower waits to be named, also when the lease is free', async () => {
    await cluster.asAdmin('POST', LEASE.replace('/job', ''), {
      metadata: { name: 'job' },
      spec: { holderIdentity: 'somebody', leaseDurationSeconds: 3600, renewTime: '2100-01-01T00:00:00.000000Z' },
    })
    const replica = new Replica('web-1')
    await until(async () => expect(await candidates()).toEqual(['web-1']))
    await until(async () => expect(await specOf(LEASE)).toMatchObject({ preferredHolder: 'web-1' }))
    expect(replica.manager.candidacies[0]?.explain()).toContain('It waits to be chosen')
    expect(replica.isLeading).toBe(false)
  })

  it('a follower says who leads with which version, of Tenure and of other clients, and that the controller decides', async () => {
    const web1 = new Replica('web-1', { version: '1.36.0' })
    await untilLeads(new Replica('web-2', { version: '1.35.0' }))
    const explained = () => web1.manager.candidacies[0]?.explain()
    await until(() =>
      expect(explained()).toBe(
        'It waits to be chosen: web-2 leads with 1.35.0, this replica has 1.36.0. The election controller of the API server decides who leads.',
      ),
    )
    await addCandidate('foreign', { leaseName: 'job', binaryVersion: '1.36.0', emulationVersion: '1.34.0' })
    await until(async () => expect(await specOf(LEASE)).toMatchObject({ holderIdentity: 'foreign' }))
    // Another client writes no note of itself on the lease.
    await cluster.asAdmin('PATCH', LEASE, { metadata: { annotations: null }, spec: { leaseDurationSeconds: 3600 } })
    await until(() => expect(explained()).toContain('foreign leads with 1.34.0, this replica has 1.36.0'))
    expect(web1.lines.map(({ message }) => message)).not.toContainEqual(expect.stringContaining('revision decides'))
  })

  it('the choice of a replica counts pings, handovers to better candidates, and those that were gone', async () => {
    const worse = new Replica('worse')
    await untilLeads(worse)
    await cluster.asAdmin('PATCH', LEASE, { spec: { preferredHolder: 'gone' } })
    const choiceOf = (replica: Replica) => replica.manager.candidacies[0]?.choice
    await until(() => expect(choiceOf(worse)?.preemptions).toEqual({ handedOver: 0, unavailable: 1 }))
    const pingTime = formatMicroTime(systemClock.wallTime() + 20_000)
    await cluster.asAdmin('PATCH', `${CANDIDATES}/worse`, { spec: { pingTime } })
    await until(() => expect(choiceOf(worse)?.pings).toMatchObject({ late: 0 }))
    await until(() => expect(choiceOf(worse)?.pings.answered).toBeGreaterThan(0))
    await untilLeads(new Replica('better', { version: '1.35.0' }))
    expect(choiceOf(worse)).toMatchObject({
      decidedBy: 'server',
      rank: undefined,
      preemptions: { handedOver: 1, unavailable: 1 },
    })
    expect(worse.lines.map(({ message }) => message)).toContainEqual(
      expect.stringContaining('hands over to better: the election controller of the API server prefers it'),
    )
  })

  it('a worse leader hands over by one write that names the better candidate', async () => {
    const worse = new Replica('worse', { version: '1.36.0' })
    await untilLeads(worse)
    const before = cluster.server.store.version
    const better = new Replica('better', { version: '1.35.0' })
    await untilLeads(better)
    await until(() => expect(worse.manager.state.kind).toBe('following'))
    const events = cluster.server.store.eventsSince('coordination.k8s.io/leases', before) ?? []
    const holders = events.map(({ object }) => (object['spec'] as Spec)['holderIdentity'])
    expect([...new Set(holders)]).toEqual(['worse', 'better'])
    expect(await candidates()).toEqual(['better', 'worse'])
    const spec = await specOf(LEASE)
    expect(spec).not.toHaveProperty('preferredHolder')
    expect(better.terms).toHaveLength(1)
  })

  it('a leader renews while it drains, and the better one starts only after that', async () => {
    const { promise: gate, resolve: open } = Promise.withResolvers<void>()
    let finished = Number.POSITIVE_INFINITY
    const worse = new Replica('worse', {
      run: async (term) => {
        void term.spawn('slow', async () => {
          await gate
          finished = performance.now()
        })
      },
    })
    await untilLeads(worse)
    const better = new Replica('better', { version: '1.35.0' })
    await until(() => expect(worse.manager.state.kind).toBe('draining'))
    expect(await specOf(LEASE)).toMatchObject({ holderIdentity: 'worse', preferredHolder: 'better' })
    open()
    await untilLeads(better)
    expect(better.terms[0]).toBeGreaterThanOrEqual(finished)
  })

  it('a replica that leaves deletes its candidate before it releases the lease', async () => {
    const first = new Replica('first', { version: '1.35.0' })
    await untilLeads(first)
    const second = new Replica('second')
    await until(async () => expect(await candidates()).toEqual(['first', 'second']))
    const order: string[] = []
    const { store } = cluster.server
    store.onCommit(({ type, ref, object }) => {
      if (type === 'DELETED') order.push(`deleted ${ref.name}`)
      else if (ref.name === 'job') order.push(`holder ${String((object['spec'] as Spec)['holderIdentity'])}`)
    })
    await first.stop()
    await untilLeads(second)
    const release = order.findIndex((step) => step === 'holder ' || step === 'holder second')
    expect(order.indexOf('deleted first')).toBeLessThan(release)
    expect(order.slice(release)).not.toContain('holder first')
  })

  it('a step-down leaves the lease to others for the cool-down, and the replica stands again after it', async () => {
    const better = new Replica('better', { version: '1.35.0' })
    await untilLeads(better)
    const worse = new Replica('worse')
    await until(async () => expect(await candidates()).toEqual(['better', 'worse']))
    await better.manager.stepDown({ cooldownMs: 500 })
    await until(() => expect(better.terms).toHaveLength(2))
    const [first = 0, second = 0] = better.terms
    expect(worse.terms.filter((begun) => begun > first && begun < second)).toHaveLength(1)
    expect(await candidates()).toEqual(['better', 'worse'])
  })

  it('a preference for a candidate that is gone is cleared, and the leader stays', async () => {
    const leader = new Replica('leader')
    await untilLeads(leader)
    await cluster.asAdmin('PATCH', LEASE, { spec: { preferredHolder: 'gone' } })
    await until(async () => expect(await specOf(LEASE)).not.toHaveProperty('preferredHolder'))
    expect(leader.isLeading).toBe(true)
    expect(leader.terms).toHaveLength(1)
  })

  it('a ping is answered with no earlier time than its own', async () => {
    const { identity } = new Replica('web-1')
    await until(async () => expect(await candidates()).toEqual([identity]))
    const pingTime = new Date(Date.now() + 20_000).toISOString().replace('Z', '000Z')
    await cluster.asAdmin('PATCH', `${CANDIDATES}/web-1`, { spec: { pingTime } })
    await until(async () => expect(await specOf(`${CANDIDATES}/web-1`)).toMatchObject({ renewTime: pingTime }))
  })

  it('an answer that takes more than 5 s counts as late', async () => {
    let aheadMs = 0
    const clock: Clock = { ...systemClock, now: () => systemClock.now() + aheadMs }
    const replica = new Replica('web-1', { clock })
    await untilLeads(replica)
    const { store } = cluster.server
    const pingTime = formatMicroTime(systemClock.wallTime() + 20_000)
    store.onCommit(({ ref, object }) => {
      if (ref.name === 'web-1' && (object['spec'] as Spec)['renewTime'] === pingTime) aheadMs = 5001
    })
    await cluster.asAdmin('PATCH', `${CANDIDATES}/web-1`, { spec: { pingTime } })
    await until(() => expect(replica.manager.candidacies[0]?.choice?.pings).toMatchObject({ late: 1 }))
  })

  it('a candidate that somebody edits or deletes comes back', async () => {
    const replica = new Replica('web-1')
    await untilLeads(replica)
    await cluster.asAdmin('PATCH', `${CANDIDATES}/web-1`, { spec: { emulationVersion: '1.30.0' } })
    await until(async () => expect(await specOf(`${CANDIDATES}/web-1`)).toMatchObject({ emulationVersion: '1.36.0' }))
    await cluster.asAdmin('DELETE', `${CANDIDATES}/web-1`)
    await until(async () => expect(await candidates()).toEqual(['web-1']))
    expect(replica.terms).toHaveLength(1)
  })

  it('equal candidates of one second do not take the lease from each other', async () => {
    const fleet = ['a', 'b', 'c'].map((identity) => new Replica(identity))
    await until(async () => {
      const list = (await cluster.asAdmin('GET', CANDIDATES)) as {
        items: { metadata: { creationTimestamp: string } }[]
      }
      const times = list.items.map(({ metadata }) => metadata.creationTimestamp)
      expect(new Set(times).size).toBe(3)
    })
    await until(() => expect(fleet.filter(({ isLeading }) => isLeading)).toHaveLength(1))
  })

  it('an equal candidate that comes later in the same second has another one soon, whichever has the greater name', async () => {
    const first = new Replica('b')
    await untilLeads(first)
    const second = new Replica('a')
    await until(async () => expect(await candidates()).toEqual(['a', 'b']))
    await until(async () => expect(await createdAt('a')).not.toBe(await createdAt('b')))
    expect([first.terms.length, second.terms.length]).toEqual([1, 0])
  })

  it('a leader is not moved by an equal candidate of the same second, and is created again if that one stays', async () => {
    const leader = new Replica('leader')
    await untilLeads(leader)
    const { store } = cluster.server
    const ref = { collection: 'coordination.k8s.io/leasecandidates', namespace: 'ops', name: 'leader' }
    const own = await until(() => {
      const stored = store.get(ref)
      if (stored === undefined) throw new Error('there is no candidate yet')
      return stored
    })
    // A candidate of another client, which does not make way.
    store.create(
      { ...ref, name: 'foreign' },
      { ...own, metadata: { ...own.metadata, name: 'foreign', uid: 'foreign' } },
    )
    await cluster.asAdmin('PATCH', LEASE, { spec: { preferredHolder: 'foreign' } })
    await until(async () => expect((await specOf(LEASE))['preferredHolder'] ?? '').toBe(''))
    expect(leader.terms).toHaveLength(1)
    await until(async () => expect((await createdAt('leader')) > (await createdAt('foreign'))).toBe(true))
  })

  it('a candidate of its name that stands for another lease is created again for this one', async () => {
    const of = { leaseName: 'other', binaryVersion: '1.36.0', emulationVersion: '1.36.0' }
    await addCandidate('web-1', of)
    await untilLeads(new Replica('web-1'))
    expect(await specOf(`${CANDIDATES}/web-1`)).toMatchObject({ leaseName: 'job' })
  })

  it('a preferred candidate has time to answer its ping', async () => {
    const leader = new Replica('leader')
    await untilLeads(leader)
    const pingTime = formatMicroTime(systemClock.wallTime() + 20_000)
    await addCandidate('slow', { leaseName: 'job', binaryVersion: '1.36.0', emulationVersion: '1.36.0', pingTime })
    await cluster.asAdmin('PATCH', LEASE, { spec: { preferredHolder: 'slow' } })
    const { renewTime } = await specOf(LEASE)
    await until(async () => expect(await specOf(LEASE)).not.toMatchObject({ renewTime }))
    expect(await specOf(LEASE)).toMatchObject({ holderIdentity: 'leader', preferredHolder: 'slow' })
    await cluster.asAdmin('PATCH', `${CANDIDATES}/slow`, { spec: { renewTime: pingTime } })
    await until(async () => expect(await specOf(LEASE)).toMatchObject({ holderIdentity: 'slow' }))
  })

  it('a name that the API server refuses is tried again after 15 s', async () => {
    const delays: number[] = []
    const setTimer: Clock['setTimer'] = (delayMs, callback) => {
      delays.push(Math.round(delayMs / 1000))
      return systemClock.setTimer(delayMs, callback)
    }
    const replica = new Replica('web@1', { clock: { ...systemClock, setTimer }, random: () => 0 })
    await until(() => expect(replica.lines.map(({ fields }) => fields['event'])).toContain('candidate-failed'))
    await until(() => expect(delays).toContain(15))
    expect(replica.isLeading).toBe(false)
  })

  it('a lease whose holder was named, answers and does not come is freed long after it has expired', async () => {
    const holders: string[] = []
    const times: unknown[] = []
    cluster.server.store.onCommit(({ ref, object }) => {
      const { holderIdentity, acquireTime, renewTime } = object['spec'] as Spec
      if (ref.name !== 'job' || holderIdentity === holders.at(-1)) return
      holders.push(String(holderIdentity))
      times.push([acquireTime, renewTime])
    })
    await addCandidate('electee', { leaseName: 'job', binaryVersion: '1.36.0', emulationVersion: '1.34.0' })
    await until(() => expect(holders).toEqual(['electee']))
    // A holder that this replica has not seen may act for a lease duration, which is longer than the 5 s of the named one; and 20 s.
    const timers: (() => void)[] = []
    const setTimer: Clock['setTimer'] = (delayMs, callback) => {
      if (delayMs === 80_000) timers.push(callback)
      return systemClock.setTimer(delayMs, callback)
    }
    const replica = new Replica('web-1', {
      version: '1.35.0',
      leaseDurationMs: 60_000,
      clock: { ...systemClock, setTimer },
    })
    await until(async () => expect(await candidates()).toEqual(['electee', 'web-1']))
    const [stuckTwice] = timers
    await cluster.asAdmin('PATCH', LEASE, { metadata: { labels: { touched: 'yes' } } })
    await until(() => expect(timers.length).toBeGreaterThan(1))
    // The holder wrote since the first of them, so that one changes nothing.
    stuckTwice?.()
    timers.at(1)?.()
    await until(() => expect(holders.slice(0, 3)).toEqual(['electee', '', 'electee']))
    expect(times[1]).toEqual(times[0])
    expect(replica.isLeading).toBe(false)
  })

  it('a leader does not make way for a worse candidate, whatever the controller prefers', async () => {
    const leader = new Replica('leader', { version: '1.35.0' })
    await untilLeads(leader)
    const worse = new Replica('worse')
    await until(async () => expect(await candidates()).toContain('worse'))
    await cluster.asAdmin('PATCH', LEASE, { spec: { preferredHolder: 'worse' } })
    expect(await holderWithoutPreference()).toBe('leader')
    expect([leader.terms.length, worse.terms.length]).toEqual([1, 0])
  })

  it('a better candidate that goes while the leader drains is not named', async () => {
    const work = Promise.withResolvers<void>()
    const leader = new Replica('leader', { run: () => work.promise })
    await untilLeads(leader)
    await addCandidate('ghost', { leaseName: 'job', binaryVersion: '1.36.0', emulationVersion: '1.35.0' })
    await until(() => expect(leader.isLeading).toBe(false))
    await cluster.asAdmin('DELETE', `${CANDIDATES}/ghost`)
    const holders: unknown[] = []
    cluster.server.store.onCommit(({ ref, object }) => {
      if (ref.name === 'job') holders.push((object as { readonly spec?: Spec }).spec?.['holderIdentity'])
    })
    await until(() => expect(holders.length).toBeGreaterThan(1))
    work.resolve()
    await untilLeads(leader)
    expect(holders).not.toContain('ghost')
  })

  it('a proved death removes the candidate and frees the lease, also against writes of others', async () => {
    const { store } = cluster.server
    const lease = { collection: 'coordination.k8s.io/leases', namespace: 'ops', name: 'job' }
    const candidate = { ...lease, collection: 'coordination.k8s.io/leasecandidates', name: 'leader' }
    const deathProof: DeathProof = {
      processRef: 'process',
      watchHolder: (_holder, { dead }) => {
        queueMicrotask(dead)
        return { close: async () => {} }
      },
    }
    const leader = new Replica('leader', { deathProof })
    await untilLeads(leader)
    const [held, stood] = [store.get(lease), store.get(candidate)]
    if (held === undefined || stood === undefined) throw new Error('nothing to restore')
    await leader.stop()
    // What a leader leaves that was killed.
    store.create(candidate, stood)
    store.update(lease, { ...held, spec: { ...(held['spec'] as Spec), leaseDurationSeconds: 3600 } })
    // Somebody writes to the lease before each of the first writes.
    let disturbances = 3
    vi.spyOn(store, 'update').mockImplementation(function (this: typeof store, ref, object, version) {
      if (ref.name === 'job' && version !== undefined && disturbances > 0) {
        disturbances -= 1
        const stored = store.get(ref) ?? object
        store.update(ref, { ...stored, metadata: { ...stored.metadata, labels: { n: String(disturbances) } } })
      }
      return Object.getPrototypeOf(store).update.call(store, ref, object, version) as typeof object
    })
    const sibling = new Replica('sibling', { deathProof })
    await untilLeads(sibling)
    expect(disturbances).toBe(0)
    expect(await candidates()).toEqual(['sibling'])
  })
})

describe('where a leader takes the replicas for those who decide, although there is a controller', () => {
  let client: LeaseClient
  /** Whether the leader hears the truth. */
  let isTrue: boolean

  beforeEach(async () => {
    cluster = await EmbeddedCluster.start('ops', ON)
    client = new LeaseClient({ kubeConfig: cluster.kubeConfig() })
    isTrue = false
    const { transport } = client
    const send = transport.send.bind(transport)
    vi.spyOn(transport, 'send').mockImplementation(async (request) => {
      const answer = await send(request)
      const isProbe = request.query?.['dryRun'] !== undefined
      return isProbe && !isTrue ? {} : answer
    })
  })
  afterEach(async () => {
    await Promise.all(replicas.map((replica) => replica.stop()))
    await client.close()
  })

  const decider = ({ lines }: Replica) =>
    lines.findLast(({ fields }) => fields['event'] === 'coordination')?.fields['coordination']

  it('it hears the truth when it is preferred to less, and does not make way for a worse candidate', async () => {
    let aheadMs = 0
    const clock: Clock = { ...systemClock, now: () => systemClock.now() + aheadMs }
    const leader = new Replica('leader', { version: '1.35.0', client, clock })
    await untilLeads(leader)
    expect(decider(leader)).toBe('peers')
    // It asks again no sooner than 5 s after it has asked.
    aheadMs = 5000
    isTrue = true
    const worse = new Replica('worse')
    await until(async () => expect(await candidates()).toEqual(['leader', 'worse']))
    expect(decider(leader)).toBe('server')
    expect(await holderWithoutPreference()).toBe('leader')
    expect([leader.terms.length, worse.terms.length]).toEqual([1, 0])
  })

  it('it hears the truth within five minutes also if nothing contradicts it', async () => {
    const timers: (() => void)[] = []
    const setTimer: Clock['setTimer'] = (delayMs, callback) => {
      if (delayMs === 300_000) timers.push(callback)
      return systemClock.setTimer(delayMs, callback)
    }
    const leader = new Replica('leader', { client, clock: { ...systemClock, setTimer }, random: () => 0 })
    await untilLeads(leader)
    isTrue = true
    expect(await candidates()).toEqual([])
    timers.at(-1)?.()
    await until(async () => expect(await candidates()).toEqual(['leader']))
    expect(leader.terms).toHaveLength(1)
  })
})

describe('with the rights of the documented Role', () => {
  beforeEach(async () => {
    cluster = await EmbeddedCluster.start('ops', ON)
  })

  /** A user with the Role of this strategy. */
  async function kubeConfigFor(strategy: string) {
    const subjects = [{ kind: 'User', name: 'replica', apiGroup: 'rbac.authorization.k8s.io' }]
    const { role, roleBinding } = leaseRole({ name: 'job', namespace: 'ops', strategy, subjects })
    const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/ops'
    await cluster.asAdmin('POST', `${rbac}/roles`, role)
    await cluster.asAdmin('POST', `${rbac}/rolebindings`, roleBinding)
    return cluster.kubeConfig('replica')
  }

  it('replicas lead, hand over to a better one and leave', async () => {
    const kubeConfig = await kubeConfigFor('OldestEmulationVersion')
    const worse = new Replica('worse', { kubeConfig })
    await untilLeads(worse)
    const better = new Replica('better', { kubeConfig, version: '1.35.0' })
    await untilLeads(better)
    await better.stop()
    await untilLeads(worse)
    expect(await candidates()).toEqual(['worse'])
  })

  it('a replica without the rights on LeaseCandidates does not lead, and says which right is missing', async () => {
    const replica = new Replica('web-1', { kubeConfig: await kubeConfigFor('NewestVersion') })
    const line = await until(() => {
      const found = replica.lines.find(({ fields }) => fields['event'] === 'candidate-failed')
      expect(found).toBeDefined()
      return found
    })
    expect(line?.message).toContain('create leasecandidates.coordination.k8s.io')
    expect(line?.message).toContain('ops')
    expect(replica.isLeading).toBe(false)
  })
})

describe('without an election controller', () => {
  it('the replicas decide, and publish no candidates', async () => {
    cluster = await EmbeddedCluster.start('ops', { runtimeConfig: ON.runtimeConfig })
    const only = new Replica('only')
    await untilLeads(only)
    expect(await candidates()).toEqual([])
    expect(await specOf(LEASE)).not.toHaveProperty('strategy')
  })

  it('the replicas decide, and do not complain that there are no candidates', async () => {
    cluster = await EmbeddedCluster.start('ops')
    const only = new Replica('only')
    await untilLeads(only)
    expect(only.lines.filter(({ level }) => level === 'warn')).toEqual([])
  })

  it('a replica that insists on one does not lead, and says why', async () => {
    cluster = await EmbeddedCluster.start('ops')
    const only = new Replica('only', { coordination: 'server' })
    await until(() => expect(JSON.stringify(only.lines)).toContain('coordination-missing'))
    expect(only.isLeading).toBe(false)
  })

  it('the best one leads on, and nobody else, while the controller is switched off and on under way', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tenure-coordination-'))
    try {
      const file = join(folder, 'state.json')
      cluster = await EmbeddedCluster.start('ops', { ...ON, file })
      const best = new Replica('best', { version: '1.34.0' })
      await untilLeads(best)
      const others = [new Replica('second', { version: '1.35.0' }), new Replica('third')]
      const fleet = [best, ...others]
      await until(async () => expect(await candidates()).toHaveLength(3))
      const port = Number(new URL(cluster.server.url).port)
      const lastly = ({ lines }: Replica) =>
        lines.findLast(({ fields }) => fields['event'] === 'coordination')?.fields['coordination']
      // Not on at the end: a controller waits for the lease of the one before it.
      for (const gates of [{}, ON, { runtimeConfig: ON.runtimeConfig }, ON, {}]) {
        await cluster.stop()
        cluster = await EmbeddedCluster.start('ops', { ...gates, file, port })
        const decider = gates === ON ? 'server' : 'peers'
        await until(() => expect(fleet.map(lastly)).toEqual(fleet.map(() => decider)))
        await until(async () => expect((await specOf(LEASE))['preferredHolder'] ?? '').toBe(''))
      }
      expect(fleet.map(({ terms }) => terms.length)).toEqual([1, 0, 0])
      await best.stop()
      await until(() => expect(others.filter(({ isLeading }) => isLeading)).toHaveLength(1))
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  it('a leader whose server was started again without the controller leads on, and its replicas decide from then', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tenure-coordination-'))
    try {
      const file = join(folder, 'state.json')
      cluster = await EmbeddedCluster.start('ops', { ...ON, file })
      const leader = new Replica('leader')
      await untilLeads(leader)
      const follower = new Replica('follower')
      await until(async () => expect(await candidates()).toContain('follower'))
      const port = Number(new URL(cluster.server.url).port)
      await cluster.stop()
      cluster = await EmbeddedCluster.start('ops', { file, port })
      const decides = (replica: Replica) =>
        replica.lines.some(({ fields }) => fields['event'] === 'coordination' && fields['coordination'] === 'peers')
      await until(() => expect([leader, follower].every(decides)).toBe(true))
      expect(leader.isLeading).toBe(true)
      await leader.stop()
      await untilLeads(follower)
      expect(leader.terms).toHaveLength(1)
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})
