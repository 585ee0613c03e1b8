/** The eight scenarios of the test plan of KEP-5366. Each replica is a separate process. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ApiServer, openApiServer } from './api-server.ts'
import { growthPerTerm } from './growth.ts'
import { loopRuns, overlaps } from './loop-runs.ts'
import type { Footprint } from './replica-event.ts'
import { Scenario } from './scenario.ts'
import { TcpProxy } from './tcp-proxy.ts'
import { withServer } from './kube-config-text.ts'
import { BRISK } from './timings.ts'

const TERMS = 10
const HEAVY_MB = 4

let server: ApiServer
beforeAll(async () => {
  server = await openApiServer()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

describe.concurrent('the test plan of KEP-5366', () => {
  it('starts the control loop of a replica that acquires the lease', async () => {
    await using scenario = await Scenario.open(server)
    const replica = await scenario.start('alpha')

    const acted = await replica.saw('acted')
    const acquired = await scenario.lease.heldBy('alpha')

    expect(acted.isHeld).toBe(true)
    expect(acted.epoch).toBe(BigInt(acquired.version))
    expect(replica.all('loop-began')).toHaveLength(1)
  })

  it('shuts down the control loop of a replica that releases the lease', async () => {
    await using scenario = await Scenario.open(server)
    const replica = await scenario.start('alpha')
    await replica.saw('acted')

    const result = await replica.stepDown({ cooldownMs: 60_000 })

    expect(result).toMatchObject({ kind: 'stepped-down', outcome: 'released', drain: 'clean' })
    const released = await scenario.lease.heldBy('')
    const ended = await replica.saw('loop-ended')
    expect(ended.at).toBeLessThan(released.at)
    expect(replica.isRunning).toBe(true)
  })

  it('stops the control loop when the lease is released: nothing acts after that', async () => {
    await using scenario = await Scenario.open(server)
    const replica = await scenario.start('alpha')
    await replica.saw('acted')

    const exit = await replica.terminate()

    expect(exit.code).toBe(0)
    const released = await scenario.lease.heldBy('')
    expect(replica.all('acted').filter(({ at }) => at > released.at)).toEqual([])
    expect(replica.all('loop-ended')).toHaveLength(1)
  })

  it('waits with the release until a controller has returned that waits for a slow API server', async () => {
    await using scenario = await Scenario.open(server)
    await using slowWay = await TcpProxy.start(server.url)
    slowWay.holdAnswers()
    const content = withServer(server.kubeConfig(scenario.userOf('alpha')), slowWay.url)
    const kubeConfigPath = await scenario.writeKubeConfig('slow', content)
    const { namespace, leaseName: lease } = scenario
    const replica = await scenario.start('alpha', {
      controllers: [{ kind: 'caller', kubeConfigPath, namespace, lease }],
    })
    await replica.saw('called')
    const stepDown = replica.stepDown({ cooldownMs: 60_000 })
    await replica.reached('draining')
    const renewals = await scenario.lease.changes(2)
    expect(renewals.map(({ holder }) => holder)).toEqual(['alpha', 'alpha'])
    expect(replica.all('loop-ended')).toEqual([])
    slowWay.resume()

    expect(await stepDown).toMatchObject({ outcome: 'released', drain: 'clean' })
    expect(replica.all('answered')).toHaveLength(1)
    const released = await scenario.lease.heldBy('')
    const ended = await replica.saw('loop-ended')
    expect(ended.at).toBeLessThan(released.at)
  })

  it('runs only one control loop in a replica that acquires and releases the lease many times', async () => {
    await using scenario = await Scenario.open(server)
    const replica = await scenario.start('alpha')

    for (let term = 1; term <= TERMS; term++) {
      await replica.saw('acted', { from: replica.events.length })
      await replica.stepDown({ cooldownMs: 0 })
    }
    await replica.terminate()

    const runs = await loopRuns([replica])
    expect(runs.length).toBeGreaterThanOrEqual(TERMS)
    expect(overlaps(runs)).toEqual([])
    expect(replica.all('built')).toHaveLength(runs.length)
  })

  it('does not leak the memory of a replica that acquires and releases the lease many times', async () => {
    await using scenario = await Scenario.open(server)
    const [alpha, beta] = await scenario.startFleet(['alpha', 'beta'], {
      controllers: [{ kind: 'heavy', megabytes: HEAVY_MB }],
    })
    if (beta === undefined) throw new Error('Expected a follower')

    const followers: Footprint[] = []
    for (let round = 0; round < TERMS; round++) {
      await scenario.handOver(alpha, beta)
      followers.push(await alpha.measure())
      await scenario.handOver(beta, alpha)
    }

    expect(Math.max(...followers.map(({ arrayBuffers }) => arrayBuffers))).toBeLessThan(2 ** 20)
    expect((await alpha.measure()).arrayBuffers).toBeGreaterThan(HEAVY_MB * 2 ** 20)
    expect(growthPerTerm(followers.map(({ heapUsed }) => heapUsed))).toBeLessThan(HEAVY_MB * 2 ** 20 * 0.05)
  })

  it('starts no control loop in a follower and allocates nothing for one', async () => {
    await using scenario = await Scenario.open(server)
    const [leader, ...followers] = await scenario.startFleet(['alpha', 'beta', 'gamma'], {
      controllers: [{ kind: 'heavy', megabytes: HEAVY_MB }, { kind: 'loop' }],
    })

    await scenario.lease.changes(2)

    for (const follower of followers) {
      expect(follower.all('built')).toEqual([])
      expect(follower.all('loop-began')).toEqual([])
      expect((await follower.measure()).arrayBuffers).toBeLessThan(2 ** 20)
    }
    expect(leader.all('built')).toHaveLength(2)
    expect((await leader.measure()).arrayBuffers).toBeGreaterThan(HEAVY_MB * 2 ** 20)
  })

  // With leases this short, it had better not share the machine with the others.
  it('runs only one control loop at all times, whichever way leaders end', { concurrent: false }, async () => {
    await using scenario = await Scenario.open(server)
    const fleet = await scenario.startFleet(['alpha', 'beta', 'gamma'], { timing: BRISK })

    const [first] = fleet
    const renewals = await scenario.lease.changes(3)
    expect(new Set(renewals.map(({ holder }) => holder))).toEqual(new Set([first.name]))
    await first.stepDown()
    const second = await scenario.leaderOf(fleet, 1)
    await second.terminate()
    const third = await scenario.leaderOf(fleet, 2)
    third.signal('SIGKILL')
    const fourth = await scenario.leaderOf(fleet, 3)
    await fourth.terminate()

    const runs = await loopRuns(fleet)
    expect(runs.map(({ replica }) => replica)).toEqual([first, second, third, fourth].map(({ name }) => name))
    expect(overlaps(runs)).toEqual([])
    const epochs = runs.map(({ epoch }) => epoch)
    expect(epochs).toEqual([...new Set(epochs)].sort((a, b) => (a < b ? -1 : 1)))
  })
})
