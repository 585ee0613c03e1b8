import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LockRequestError } from '@tenure/core'
import { type TimingOptions } from '@tenure/core/internal'
import { type ApiServer, openApiServer } from '../scenarios/api-server.ts'
import { type LeaseSpec, leasesPath } from '../scenarios/lease-journal.ts'
import { Scenario } from '../scenarios/scenario.ts'
import { ScriptedReplica } from '../scenarios/scripted-replica.ts'
import { STEADY } from '../scenarios/timings.ts'
import { TcpProxy } from '../scenarios/tcp-proxy.ts'
import { withServer } from '../scenarios/kube-config-text.ts'

let server: ApiServer
beforeAll(async () => {
  server = await openApiServer()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

/** Those of Tenure: between two renewals, a shortened lease runs out. */
/** A leader that renews only when it is due needs several seconds to notice anything. */
const DEFAULTS = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 6000 } as const

/** A replica that may stand for election, on a way to the API server that can be cut. */
async function replica(
  scenario: Scenario,
  identity: string,
  { url = server.url, timing = STEADY }: { readonly url?: string; readonly timing?: TimingOptions } = {},
): Promise<ScriptedReplica> {
  await scenario.grant(identity)
  const kubeConfig = withServer(server.kubeConfig(scenario.userOf(identity)), url)
  return new ScriptedReplica(scenario, { identity, kubeConfig, timing })
}

/** Changes the lease as a person does, and tells when that was known to have happened. */
async function edit(
  scenario: Scenario,
  change: { readonly [K in keyof LeaseSpec]: LeaseSpec[K] | null },
): Promise<number> {
  const path = `${leasesPath(scenario.namespace)}/${scenario.leaseName}`
  const stored = (await server.admin.expect(path)) as { readonly spec: LeaseSpec }
  const { status } = await server.admin.request(path, {
    method: 'PUT',
    body: { ...stored, spec: { ...stored.spec, ...change } },
  })
  if (status === 409) return edit(scenario, change)
  expect(status).toBe(200)
  return performance.now()
}

/** A leader that can be cut off, and a replica that follows it. */
async function fleet(scenario: Scenario, timing: TimingOptions = STEADY) {
  const proxy = await TcpProxy.start(server.url)
  const leader = await replica(scenario, 'alpha', { url: proxy.url, timing })
  await leader.saw('term-began')
  const follower = await replica(scenario, 'beta', { timing })
  await follower.events.waitFor('the leader', (seen) => seen.kind === 'leader-observed' && seen.identity === 'alpha')
  return {
    proxy,
    leader,
    follower,
    [Symbol.asyncDispose]: async () => {
      await Promise.all([leader[Symbol.asyncDispose](), follower[Symbol.asyncDispose]()])
      await proxy[Symbol.asyncDispose]()
    },
  }
}

/** When the last term of a leader could act for the last time, by asking it over and over until after `atLeast`. */
async function lastHeld(leader: ScriptedReplica, atLeast: Promise<unknown>): Promise<number> {
  const term = leader.terms.at(-1)
  let held = 0
  let isOver = false
  void atLeast.then(() => (isOver = true))
  for (;;) {
    const isHeld = term?.isHeld() === true
    if (isHeld) held = performance.now()
    else if (isOver) return held
    await new Promise((resolve) => setImmediate(resolve))
  }
}

describe.concurrent('a lease whose duration somebody shortens', () => {
  it('stays with its leader, who renews it at once, as often as that is done', async () => {
    await using scenario = await Scenario.open(server)
    await using fleetOfTwo = await fleet(scenario, DEFAULTS)
    for (const seconds of [1, 2, 1, 3600, 1, 2 ** 31 - 1, 1]) {
      const editedAt = await edit(scenario, { leaseDurationSeconds: seconds })
      const from = scenario.lease.length
      const { spec } = await scenario.lease.waitFor(
        'the duration of the leader',
        (seen) => seen.spec.leaseDurationSeconds === DEFAULTS.leaseDurationMs / 1000,
        { from: Math.max(0, from - 2) },
      )
      expect(spec.holderIdentity).toBe('alpha')
      expect(performance.now() - editedAt).toBeLessThan(DEFAULTS.retryPeriodMs / 2)
    }
    await new Promise((resolve) => setTimeout(resolve, 2000))
    expect(scenario.lease.entries.map(({ holder }) => holder)).not.toContain('beta')
    expect(fleetOfTwo.leader.all('term-began')).toHaveLength(1)
  })

  it('has no second leader while the first, which was cut off just after the edit, may act', async () => {
    await using scenario = await Scenario.open(server)
    await using fleetOfTwo = await fleet(scenario)
    const { proxy, leader, follower } = fleetOfTwo
    await edit(scenario, { leaseDurationSeconds: 1 })
    await proxy.cut()
    // Its last renewal may have come in between; then the edit has to be made without it.
    await edit(scenario, { leaseDurationSeconds: 1 })
    const began = follower.saw('term-began')
    const held = await lastHeld(leader, began)
    expect(held).toBeGreaterThan(0)
    expect((await began).at - held).toBeGreaterThan(0)
    await proxy.restore()
  })

  it('ends its term in time for a peer that obeys the record, when no renewal succeeds', async () => {
    await using scenario = await Scenario.open(server)
    await using leader = await replica(scenario, 'alpha')
    await leader.saw('renewed')
    leader.script.update = async () => {
      throw new LockRequestError('unreachable', 'there is no way')
    }
    const editedAt = await edit(scenario, { leaseDurationSeconds: 1 })
    const held = await lastHeld(leader, leader.saw('term-over'))
    expect(held - editedAt).toBeLessThan(1000)
    leader.script.update = (send, ...request) => send(...request)
  })
})

describe.concurrent('a lease of which somebody', () => {
  it.each([
    ['removes the duration', { leaseDurationSeconds: null }],
    ['removes the renew time', { renewTime: null }],
    ['sets the renew time to the last century', { renewTime: '1999-12-31T23:59:59.000000Z' }],
    ['sets the renew time to the next century', { renewTime: '2199-12-31T23:59:59.000000Z' }],
    [
      'moves the renew time and shortens the duration',
      { renewTime: new Date().toISOString().replace('Z', '000Z'), leaseDurationSeconds: 1 },
    ],
    ['empties the holder', { holderIdentity: '' }],
    ['sets the transitions', { leaseTransitions: 4711 }],
  ])('%s has one leader at a time, also when the leader was cut off just then', async (_what, change) => {
    await using scenario = await Scenario.open(server)
    await using fleetOfTwo = await fleet(scenario)
    const { proxy, leader, follower } = fleetOfTwo
    await proxy.cut()
    await edit(scenario, change)
    const began = follower.saw('term-began')
    const held = await lastHeld(leader, began)
    expect(held).toBeGreaterThan(0)
    expect((await began).at - held).toBeGreaterThan(0)
    await proxy.restore()
  })
})
