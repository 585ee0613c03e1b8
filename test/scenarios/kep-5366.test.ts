/** The eight scenarios of the test plan of KEP-5366, with replicas that are processes of their own. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ApiServer, openApiServer } from './api-server.ts'
import { loopRuns, overlaps } from './loop-runs.ts'
import { Scenario } from './scenario.ts'
import { TcpProxy } from './tcp-proxy.ts'
import { withServer } from './kube-config-text.ts'
import { BRISK } from './timings.ts'

let server: ApiServer
beforeAll(async () => {
  server = await openApiServer()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

describe('the test plan of KEP-5366', () => {
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
    const content = withServer(server.kubeConfig(scenario.userOf('alpha')), slowWay.url)
    const kubeConfigPath = await scenario.writeKubeConfig('slow', content)
    const { namespace, leaseName: lease } = scenario
    const replica = await scenario.start('alpha', {
      controllers: [{ kind: 'caller', kubeConfigPath, namespace, lease }],
    })
    await replica.saw('answered')

    slowWay.holdAnswers()
    await replica.saw('called', { from: replica.events.length })
    const stepDown = replica.stepDown({ cooldownMs: 60_000 })
    await replica.reached('draining')
    const renewals = await scenario.lease.changes(2)
    expect(renewals.map(({ holder }) => holder)).toEqual(['alpha', 'alpha'])
    expect(replica.all('loop-ended')).toEqual([])
    slowWay.resume()

    expect(await stepDown).toMatchObject({ outcome: 'released', drain: 'clean' })
    const released = await scenario.lease.heldBy('')
    const ended = await replica.saw('loop-ended')
    expect(ended.at).toBeLessThan(released.at)
  })

  it('runs only one control loop at all times, whichever way leaders end', async () => {
    await using scenario = await Scenario.open(server)
    const fleet = await scenario.startFleet(['alpha', 'beta', 'gamma'], { timing: BRISK })
    const leaderAfter = (transitions: number) =>
      scenario.lease
        .waitFor(
          `transition ${transitions}`,
          ({ holder, spec }) => holder !== '' && spec.leaseTransitions === transitions,
        )
        .then(async ({ holder }) => {
          const leader = fleet.find(({ name }) => name === holder)
          if (leader === undefined) throw new Error(`Expected a replica to lead, not ${holder}`)
          await leader.events.waitFor(
            'its loop to act',
            (event) => event.kind === 'acted' && event.epoch === leader.all('loop-began').at(-1)?.epoch,
          )
          return leader
        })

    const first = await leaderAfter(0)
    await first.stepDown()
    const second = await leaderAfter(1)
    await second.terminate()
    const third = await leaderAfter(2)
    third.signal('SIGKILL')
    const fourth = await leaderAfter(3)
    await fourth.terminate()

    const runs = await loopRuns(fleet)
    expect(runs.map(({ replica }) => replica)).toEqual([first, second, third, fourth].map(({ name }) => name))
    expect(overlaps(runs)).toEqual([])
    const epochs = runs.map(({ epoch }) => epoch)
    expect(epochs).toEqual([...new Set(epochs)].sort((a, b) => (a < b ? -1 : 1)))
  })
})
