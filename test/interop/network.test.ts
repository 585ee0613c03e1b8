import { setTimeout as sleep } from 'node:timers/promises'
import { startToxiproxy, type Toxic, type Toxiproxy } from '@tenure/test-control-plane'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openRealApiServer } from '../scenarios/api-server.ts'
import { withServer } from '../scenarios/kube-config-text.ts'
import { loopRuns, overlaps } from '../scenarios/loop-runs.ts'
import type { ReplicaProcess } from '../scenarios/replica-process.ts'
import { Scenario } from '../scenarios/scenario.ts'
import { BRISK } from '../scenarios/timings.ts'

const MS = 1_000_000n
const LEASE_NS = BigInt(BRISK.leaseDurationMs) * MS
/** After a fault there is a leader within a lease duration, a request timeout, and this time. */
const SLACK_MS = 500
const LEADERLESS_NS = BigInt(BRISK.leaseDurationMs + BRISK.requestTimeoutMs + SLACK_MS) * MS

let server: Awaited<ReturnType<typeof openRealApiServer>>
let toxiproxy: Toxiproxy
beforeAll(async () => {
  server = await openRealApiServer()
  toxiproxy = await startToxiproxy()
})
afterAll(async () => {
  await toxiproxy.stop()
  await server[Symbol.asyncDispose]()
})

const downstream = (type: Toxic['type'], attributes: Toxic['attributes']): Toxic => ({
  type,
  stream: 'downstream',
  attributes,
})
const upstream = (type: Toxic['type'], attributes: Toxic['attributes']): Toxic => ({
  type,
  stream: 'upstream',
  attributes,
})

/** Faults that no lease survives. */
const DEADLY: readonly (readonly [string, readonly Toxic[]])[] = [
  ['answers every request after 10 s', [downstream('latency', { latency: 10_000 })]],
  ['answers every request after 3 s', [downstream('latency', { latency: 3000 })]],
  ['is a black hole', [downstream('timeout', { timeout: 0 }), upstream('timeout', { timeout: 0 })]],
  ['takes requests and loses the answers', [downstream('timeout', { timeout: 0 })]],
  ['answers and loses the requests', [upstream('timeout', { timeout: 0 })]],
  ['resets every connection after a moment', [downstream('reset_peer', { timeout: 50 })]],
  [
    'reads 10 bytes a second',
    [upstream('bandwidth', { rate: 0 }), upstream('slicer', { average_size: 1, delay: 100_000 })],
  ],
]

/** Faults that a leader works on under. */
const MILD: readonly (readonly [string, readonly Toxic[]])[] = [
  ['answers after 20 ms', [downstream('latency', { latency: 20, jitter: 10 })]],
  ['answers after 300 ms', [downstream('latency', { latency: 300, jitter: 100 })]],
  ['trickles its answers', [downstream('slicer', { average_size: 64, size_variation: 32, delay: 1000 })]],
  ['carries 30 kB a second', [downstream('bandwidth', { rate: 30 }), upstream('bandwidth', { rate: 30 })]],
]

describe.concurrent('A leader whose way to the API server', () => {
  it.each(DEADLY)('%s ends its term in time, and the other replica leads', async (name, toxics) => {
    await using scenario = await Scenario.open(server)
    const fleet = await startFleet(scenario, name)
    const [leader, follower] = fleet

    for (const toxic of toxics) await toxiproxy.addToxic(proxyOf(scenario, leader.name), toxic)
    const ended = await leader.saw('loop-ended')
    const began = await follower.saw('loop-began')

    const lastSeen = scenario.lease.entries.findLast(({ holder, at }) => holder === leader.name && at < began.at)
    const renewedAt = lastSeen?.at ?? 0n
    expect(ended.at - renewedAt).toBeLessThan(LEASE_NS)
    expect(began.at - renewedAt).toBeGreaterThan(LEASE_NS / 2n)
    expect(began.at - renewedAt).toBeLessThan(LEADERLESS_NS)
    await expectNoOverlap(fleet)
  })

  it.each(DEADLY)('%s for a while follows afterwards', async (name, toxics) => {
    await using scenario = await Scenario.open(server)
    const fleet = await startFleet(scenario, `${name} for a while`)
    const [leader, follower] = fleet
    const from = leader.events.length

    for (const toxic of toxics) await toxiproxy.addToxic(proxyOf(scenario, leader.name), toxic)
    await follower.saw('loop-began')
    await mend(scenario, leader)

    await leader.follows(follower.name, { from })
    await leader.saw('loop-ended')
    expect(leader.isRunning).toBe(true)
    await expectNoOverlap(fleet)
  })

  it.each(MILD)('%s leads on', async (name, toxics) => {
    await using scenario = await Scenario.open(server)
    const fleet = await startFleet(scenario, name)
    const [leader, follower] = fleet

    for (const toxic of toxics) await toxiproxy.addToxic(proxyOf(scenario, leader.name), toxic)
    await sleep(2 * BRISK.leaseDurationMs)

    expect(leader.all('term-ending')).toEqual([])
    expect(follower.all('loop-began')).toEqual([])
    expect(scenario.lease.last?.holder).toBe(leader.name)
  })
})

describe.concurrent('A follower whose way to the API server', () => {
  it.each(DEADLY)('%s for a while takes the lease when it is free, and no sooner', async (name, toxics) => {
    await using scenario = await Scenario.open(server)
    const fleet = await startFleet(scenario, `${name} for the follower`)
    const [leader, follower] = fleet

    for (const toxic of toxics) await toxiproxy.addToxic(proxyOf(scenario, follower.name), toxic)
    await sleep(BRISK.leaseDurationMs + BRISK.requestTimeoutMs)
    expect(follower.all('loop-began')).toEqual([])
    expect(leader.all('term-ending')).toEqual([])
    await mend(scenario, follower)
    await leader.terminate()

    const released = await scenario.lease.heldBy('')
    const began = await follower.saw('loop-began')
    expect(began.at).toBeGreaterThan(released.at - 50n * MS)
    await expectNoOverlap(fleet)
  })
})

describe('An API server that', () => {
  it('is killed and started again has one leader within a lease and a request timeout', async () => {
    await using scenario = await Scenario.open(server)
    const fleet = await startFleet(scenario, 'restart')

    await server.takeDown()
    await server.bringBack()
    const since = process.hrtime.bigint()

    await expectOneLeader(scenario, fleet, since)
  })

  it('is gone for longer than a lease has one leader within a lease and a request timeout', async () => {
    await using scenario = await Scenario.open(server)
    const fleet = await startFleet(scenario, 'outage')
    const [leader] = fleet

    await server.takeDown()
    await leader.saw('loop-ended')
    await server.bringBack()
    const since = process.hrtime.bigint()

    await expectOneLeader(scenario, fleet, since)
  })

  it.each([2000, 6000])(
    'waits %i ms for its etcd has one leader within a lease and a request timeout',
    async (pauseMs) => {
      await using scenario = await Scenario.open(server)
      const fleet = await startFleet(scenario, `etcd ${pauseMs}`)

      server.controlPlane.pauseEtcd()
      await sleep(pauseMs)
      server.controlPlane.resumeEtcd()
      const since = process.hrtime.bigint()

      await expectOneLeader(scenario, fleet, since)
    },
  )
})

/** A leader and a follower, each with its own proxy to the API server. */
async function startFleet(scenario: Scenario, fault: string): Promise<readonly [ReplicaProcess, ReplicaProcess]> {
  const leader = await startBehindProxy(scenario, 'alpha')
  await leader.saw('loop-began')
  const follower = await startBehindProxy(scenario, 'beta')
  await follower.follows(leader.name)
  expect(follower.all('loop-began'), fault).toEqual([])
  return [leader, follower]
}

async function startBehindProxy(scenario: Scenario, name: string): Promise<ReplicaProcess> {
  const port = await toxiproxy.createProxy(proxyOf(scenario, name), Number(new URL(server.url).port))
  const credentials = withServer(server.kubeConfig(scenario.userOf(name)), `https://127.0.0.1:${port}`)
  return await scenario.start(name, { timing: BRISK, credentials })
}

function proxyOf(scenario: Scenario, replica: string): string {
  return `${scenario.namespace}-${replica}`
}

/** Ends the faults on the way of one replica; connections that were spoiled are cut. */
async function mend(scenario: Scenario, replica: ReplicaProcess): Promise<void> {
  const proxy = proxyOf(scenario, replica.name)
  await toxiproxy.removeToxics(proxy)
  await toxiproxy.setEnabled(proxy, false)
  await toxiproxy.setEnabled(proxy, true)
}

/** Expects that a replica acts as the leader in time, that it is the holder, and that no two were ever at work at the same time. */
async function expectOneLeader(
  scenario: Scenario,
  fleet: readonly [ReplicaProcess, ReplicaProcess],
  since: bigint,
): Promise<void> {
  const acts = fleet.map(async ({ name, events }) => {
    const { at } = await events.waitFor('an act', (event) => event.kind === 'acted' && event.isHeld && event.at > since)
    return { name, at }
  })
  const first = await Promise.any(acts)
  expect(first.at - since).toBeLessThan(LEADERLESS_NS)
  await scenario.lease.waitFor(`a lease of ${first.name}`, () => scenario.lease.last?.holder === first.name)
  await expectNoOverlap(fleet)
}

/** Expects that no two loops ever ran at the same time. */
async function expectNoOverlap(fleet: readonly ReplicaProcess[]): Promise<void> {
  expect(overlaps(await loopRuns(fleet))).toEqual([])
}
