import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ApiServer, openApiServer } from './api-server.ts'
import { Scenario } from './scenario.ts'

let server: ApiServer
beforeAll(async () => {
  server = await openApiServer()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

describe.concurrent('GracefulLeaderTransition', () => {
  it('on: a replica that loses the lease follows and leads again, in the same process', async () => {
    await using scenario = await Scenario.open(server)
    const replica = await scenario.start('alpha')
    const { epoch } = await replica.saw('acted')
    const { pid } = replica

    await scenario.seizeLease('intruder')
    const lost = await replica.saw('term-over')
    await replica.follows('intruder')
    await scenario.seizeLease('')
    const again = await replica.events.waitFor('a later term', (event) => event.kind === 'acted' && event.epoch > epoch)

    expect(lost).toMatchObject({ reason: 'superseded', outcome: 'lost' })
    expect(again.at).toBeGreaterThan((await replica.saw('loop-ended')).at)
    expect(replica.isRunning).toBe(true)
    expect(replica.pid).toBe(pid)
  })

  it('off: losing the lease ends the process at once, with code 10', async () => {
    await using scenario = await Scenario.open(server)
    const replica = await scenario.start('alpha', {
      featureGates: { GracefulLeaderTransition: false },
      controllers: [{ kind: 'slow-drain', drainMs: 10_000 }],
    })
    await replica.saw('loop-began')

    await scenario.seizeLease('intruder')
    const seized = await scenario.lease.heldBy('intruder')
    const exit = await replica.exited

    expect(exit.code).toBe(10)
    expect(exit.at - seized.at).toBeLessThan(2_000_000_000n)
    expect((await replica.logged('fatal'))['msg']).toContain('superseded')
    expect(await scenario.storedLease()).toEqual(seized.spec)
  })

  it('off: giving up the lease still drains and releases it before the process ends with code 10', async () => {
    await using scenario = await Scenario.open(server)
    const replica = await scenario.start('alpha', { argv: ['--feature-gates=GracefulLeaderTransition=false'] })
    await replica.saw('acted')

    // The process ends before it could answer.
    replica.stepDown().catch(() => {})
    const exit = await replica.exited

    expect(exit.code).toBe(10)
    const released = await scenario.lease.heldBy('')
    expect((await replica.saw('loop-ended')).at).toBeLessThan(released.at)
  })
})

describe.concurrent('ReleaseLockOnExit', () => {
  it('on: a clean stop leaves a lease without holder, that lasts one second', async () => {
    await using scenario = await Scenario.open(server)
    const replica = await scenario.start('alpha')
    await replica.saw('acted')

    const exit = await replica.terminate()

    expect(exit.code).toBe(0)
    expect(await scenario.lease.heldBy('')).toMatchObject({ spec: { holderIdentity: '', leaseDurationSeconds: 1 } })
  })

  it('off: a clean stop drains, and leaves the lease to its holder until it expires', async () => {
    await using scenario = await Scenario.open(server)
    const replica = await scenario.start('alpha', { env: { TENURE_FEATURE_GATES: 'ReleaseLockOnExit=false' } })
    await replica.saw('acted')

    const exit = await replica.terminate()

    expect(exit.code).toBe(0)
    expect(await replica.saw('term-over')).toMatchObject({ reason: 'shutdown', outcome: 'expired', drain: 'clean' })
    expect(replica.all('loop-ended')).toHaveLength(1)
    expect(await scenario.storedLease()).toMatchObject({ holderIdentity: 'alpha', leaseDurationSeconds: 15 })
  })
})
