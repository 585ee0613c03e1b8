import { setTimeout as sleep } from 'node:timers/promises'
import { type ControlPlane, startControlPlane } from '@tenure/test-control-plane'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ServiceFleet, type ServiceReplica } from './service-fleet.ts'
import { SliceLedger, type Verdict } from './slice-ledger.ts'
import { monotonicNow } from './slice-watch.ts'

/** How often each fault happens. `TENURE_ENDPOINTS=long` is the long form, which takes half an hour. */
const ROUNDS =
  process.env['TENURE_ENDPOINTS'] === 'long'
    ? { kills: 200, stops: 200, pauses: 50, restarts: 50, outages: 20 }
    : { kills: 4, stops: 4, pauses: 1, restarts: 1, outages: 1 }

/** Short, so that many deaths fit into the time. */
const LEASE_MS = 3000

/** How many die at once. */
const TOGETHER = 4

/** The controllers must leave a foreign slice alone, and collect a slice whose Service was deleted. */
async function startControllers(): Promise<void> {
  const slices = ['endpointslice-controller', 'endpointslice-mirroring-controller']
  const timing = { leaseDurationMs: 6000, renewDeadlineMs: 4000, retryPeriodMs: 1000 }
  await server.startControllerManager({ controllers: ['garbage-collector-controller', ...slices], timing })
}

/** How long a round may take on a busy machine. */
const ROUND_MS = 60_000

const OUTAGE_MS = 20_000

const RIGHT: Verdict = { dropped: [], lingering: [], emptyMs: 0 }

let server: ControlPlane

beforeAll(async () => {
  server = await startControlPlane()
  await startControllers()
})

afterAll(async () => server.stop())

const times = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index)

describe('the slice of a replicated service', () => {
  let fleet: ServiceFleet
  let ledger: SliceLedger

  beforeAll(async () => {
    fleet = await ServiceFleet.open(server, { service: 'shop', leaseDurationMs: LEASE_MS })
  })

  beforeEach(async () => {
    await fleet.resize(3)
    ledger = new SliceLedger(fleet, LEASE_MS)
  })

  afterEach(() => ledger.close())

  afterAll(async () => fleet[Symbol.asyncDispose]())

  const anyReplica = (): ServiceReplica => {
    const { replicas } = fleet
    const found = replicas[Math.floor(Math.random() * replicas.length)]
    if (found === undefined) throw new Error('Expected a replica')
    return found
  }

  it(
    'loses a replica that stops before its process ends, and no other',
    async () => {
      for (const _ of times(ROUNDS.stops)) {
        await ledger.stop(anyReplica())
        await fleet.start()
      }
      expect(ledger.judge()).toEqual(RIGHT)
    },
    ROUNDS.stops * ROUND_MS,
  )

  it(
    'loses a replica that is killed within its lease and a second, and no other',
    async () => {
      for (const _ of times(Math.ceil(ROUNDS.kills / TOGETHER))) {
        const doomed = await Promise.all(times(TOGETHER).map(() => fleet.start()))
        const kill = async (replica: ServiceReplica): Promise<void> => {
          await sleep(Math.random() * LEASE_MS)
          await ledger.kill(replica)
        }
        await Promise.all(doomed.map(kill))
      }
      expect(ledger.judge()).toEqual(RIGHT)
    },
    ROUNDS.kills * ROUND_MS,
  )

  it(
    'loses a replica that is paused for longer than its lease, and has it again when it goes on',
    async () => {
      for (const _ of times(ROUNDS.pauses)) {
        const replica = anyReplica()
        const { at } = fleet.end(replica, 'SIGSTOP')
        await fleet.watch.without(replica.address, at)
        const resumedAt = monotonicNow()
        replica.signal('SIGCONT')
        await fleet.listed(replica, resumedAt)
        // Those that took it for dead must not remove it now.
        await sleep(LEASE_MS)
      }
      expect(ledger.judge()).toEqual(RIGHT)
    },
    ROUNDS.pauses * ROUND_MS,
  )

  it(
    'keeps every living replica while the API server restarts',
    async () => {
      for (const round of times(ROUNDS.restarts)) {
        await server.restartApiServer({ kill: round % 2 === 0 })
        await sleep(1.5 * LEASE_MS)
      }
      expect(ledger.judge()).toEqual(RIGHT)
    },
    ROUNDS.restarts * ROUND_MS,
  )

  it(
    'keeps a replica that goes on after a pause, although the API server is killed just then',
    async () => {
      for (const _ of times(ROUNDS.pauses)) {
        const replica = anyReplica()
        const { at } = fleet.end(replica, 'SIGSTOP')
        await fleet.watch.without(replica.address, at)
        const resumedAt = monotonicNow()
        replica.signal('SIGCONT')
        await fleet.listed(replica, resumedAt)
        // The others may not have heard yet that it is back.
        await server.restartApiServer({ kill: true })
        await sleep(1.5 * LEASE_MS)
      }
      expect(ledger.judge()).toEqual(RIGHT)
    },
    ROUNDS.pauses * ROUND_MS,
  )

  it(
    'keeps every living replica while etcd is down for 20 seconds, and loses a replica that is killed meanwhile',
    async () => {
      const outages: { from: number; to: number }[] = []
      for (const _ of times(ROUNDS.outages)) {
        const doomed = anyReplica()
        const from = monotonicNow()
        await server.stopEtcd()
        const death = ledger.kill(doomed)
        await sleep(OUTAGE_MS)
        await server.startEtcd()
        // An outage ends for the replicas with their first success, and has ended if another one follows.
        await fleet.renewed(Date.now())
        await fleet.renewed(Date.now())
        outages.push({ from, to: monotonicNow() })
        await death
        await sleep(LEASE_MS)
        await fleet.resize(3)
      }
      expect(ledger.judge(outages)).toEqual(RIGHT)
    },
    ROUNDS.outages * ROUND_MS,
  )

  it('has the one that comes back after all were killed, and soon nobody else', async () => {
    const { replicas } = fleet
    const killed = replicas.map((replica) => fleet.end(replica, 'SIGKILL').gone)
    await Promise.all(killed)
    const back = await fleet.start()
    const { at } = await fleet.watch.until(
      'only the one that came back',
      ({ addresses }) => addresses.join() === back.address,
      back.livesFrom,
    )
    expect(at - back.startedAt).toBeGreaterThan(0)
    expect(ledger.judge()).toEqual(RIGHT)
  })

  it('has a replica again that takes the address of a killed replica', async () => {
    const killed = anyReplica()
    const { at, gone } = fleet.end(killed, 'SIGKILL')
    await gone
    const successor = fleet.spawn(killed.address)
    await fleet.watch.without(killed.address, at)
    await fleet.listed(successor, fleet.watch.present.at)
    await sleep(2 * LEASE_MS)
    expect(ledger.judge()).toEqual(RIGHT)
  })

  it('is put back when somebody deletes it or edits its endpoints', async () => {
    const path = `/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices/shop`
    const addresses = fleet.replicas.map(({ address }) => address).toSorted()
    const deletedAt = monotonicNow()
    expect((await server.request(path, { method: 'DELETE' })).status).toBe(200)
    await fleet.watch.until('no slice', ({ slice }) => slice === undefined, deletedAt)
    const restored = (version: { addresses: readonly string[] }): boolean =>
      version.addresses.join() === addresses.join()
    await fleet.watch.until(
      'the slice as before',
      restored,
      fleet.watch.versions.findLast((v) => v.slice === undefined)?.at,
    )
    const body = { endpoints: [{ addresses: ['198.51.100.1'] }] }
    const editedAt = monotonicNow()
    const contentType = 'application/merge-patch+json'
    expect((await server.request(path, { method: 'PATCH', contentType, body })).status).toBe(200)
    const edited = await fleet.watch.with('198.51.100.1', editedAt)
    await fleet.watch.until('the slice as before', restored, edited.at)
  })

  it('is empty when the last replica stops', async () => {
    for (const replica of fleet.replicas) await ledger.stop(replica)
    const { listed } = await fleet.watch.until(
      'nobody in the slice',
      (version) => version.listed.length === 0,
      monotonicNow(),
    )
    expect(listed).toEqual([])
    expect(ledger.judge()).toEqual(RIGHT)
  })

  it('is empty when all replicas stop at once', async () => {
    const at = monotonicNow()
    await Promise.all(fleet.replicas.map((replica) => ledger.stop(replica)))
    await fleet.watch.until('nobody in the slice', (version) => version.listed.length === 0, at)
    expect(ledger.judge()).toEqual(RIGHT)
  })

  it('is collected with its Service', async () => {
    // The outage of etcd has ended the controller manager that ran before.
    await startControllers()
    const at = monotonicNow()
    await Promise.all(fleet.replicas.map((replica) => fleet.end(replica, 'SIGTERM').gone))
    expect((await server.request('/api/v1/namespaces/shop/services/shop', { method: 'DELETE' })).status).toBe(200)
    const { slice } = await fleet.watch.until('no slice', (version) => version.slice === undefined, at)
    expect(slice).toBeUndefined()
  })
})

describe('the identity Leases of the replicas', () => {
  interface Identity {
    readonly metadata: { readonly name: string; readonly uid: string }
    readonly spec: { readonly holderIdentity: string; readonly leaseDurationSeconds: number }
  }

  const path = '/apis/coordination.k8s.io/v1/namespaces/staff/leases'

  const identities = async (): Promise<readonly Identity[]> => {
    const selector = encodeURIComponent('tenure.dev/member-of=staff')
    const { text } = await server.request(`${path}?labelSelector=${selector}`)
    return (JSON.parse(text) as { items: readonly Identity[] }).items
  }

  const eventually = async (fits: (found: readonly Identity[]) => boolean): Promise<readonly Identity[]> => {
    for (;;) {
      const found = await identities()
      if (fits(found)) return found
      await sleep(50)
    }
  }

  it('are one for each, go with a clean stop, come back when deleted, and are collected after a crash', async () => {
    await using fleet = await ServiceFleet.open(server, { service: 'staff', leaseDurationMs: LEASE_MS })
    await fleet.resize(3)
    const before = await identities()
    expect(before.map(({ spec }) => spec.leaseDurationSeconds)).toEqual([3, 3, 3])
    expect(new Set(before.map(({ spec }) => spec.holderIdentity)).size).toBe(3)

    const [stopped, crashed] = fleet.replicas
    if (stopped === undefined || crashed === undefined) throw new Error('Expected replicas')
    await fleet.end(stopped, 'SIGTERM').gone
    const left = await identities()
    expect(left).toHaveLength(2)

    const [deleted] = left
    await server.request(`${path}/${deleted?.metadata.name ?? ''}`, { method: 'DELETE' })
    const holders = left.map(({ spec }) => spec.holderIdentity).toSorted()
    const back = await eventually((found) => found.length === 2)
    expect(back.map(({ spec }) => spec.holderIdentity).toSorted()).toEqual(holders)
    expect(back.map(({ metadata }) => metadata.uid)).not.toContain(deleted?.metadata.uid)

    fleet.end(crashed, 'SIGKILL')
    const remaining = await eventually((found) => found.length === 1)
    expect(holders).toContain(remaining[0]?.spec.holderIdentity)
  })
})

describe('the slice of a service with a leader', () => {
  it('has the address of the present leader only, through stops and kills', async () => {
    await using fleet = await ServiceFleet.open(server, { service: 'led', mode: 'leader', leaseDurationMs: LEASE_MS })
    const { watch } = fleet
    const spawned = times(3).map(() => fleet.spawn())
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      const led = await watch.until('a leader', ({ addresses }) => addresses.length > 0, watch.present.at)
      const leader = spawned.find(({ address }) => address === led.addresses[0])
      if (leader === undefined) throw new Error(`Expected a replica with ${led.addresses.join()}`)
      const { at } = fleet.end(leader, signal)
      await watch.until(
        'another leader',
        ({ addresses }) => addresses.length > 0 && !addresses.includes(leader.address),
        at,
      )
    }
    expect(watch.versions.filter(({ addresses }) => addresses.length > 1)).toEqual([])
  })
})
