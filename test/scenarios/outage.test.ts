import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ApiServer, openApiServer } from './api-server.ts'
import { Scenario } from './scenario.ts'
import { BRISK } from './timings.ts'

const OPS = { port: 0, host: '127.0.0.1' } as const
/** The minimum time after the last renewal until others may acquire the lease. */
const LEASE_NS = BigInt(BRISK.leaseDurationMs) * 1_000_000n

let server: ApiServer
beforeAll(async () => {
  server = await openApiServer()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

describe('a replica whose API server is gone', () => {
  it('at the start: waits, says in /readyz why it is not ready, and leads when the server comes', async () => {
    await using scenario = await Scenario.open(server)
    await server.takeDown()
    const replica = await scenario.start('alpha', { granted: false, timing: BRISK, ops: OPS })
    await replica.logged('request-failed')

    const readyz = await replica.get('/readyz')
    const livez = await replica.get('/livez')
    await server.bringBack()
    await scenario.grant('alpha')
    await replica.saw('acted')

    expect(readyz.status).toBe(500)
    // A server that is on its way out may still take a request, and answer it no more.
    expect(readyz.body).toMatch(
      /lease-observed failed: .*`janitor` has not been seen yet: .*(?:ECONNREFUSED|not answered)/,
    )
    expect(livez.status).toBe(200)
    expect(await replica.get('/readyz')).toEqual({ status: 200, body: 'ok' })
  })

  it('later: ends its term before anybody else may lead, and stands again in the same process', async () => {
    await using scenario = await Scenario.open(server)
    const replica = await scenario.start('alpha', { timing: BRISK, ops: OPS })
    const first = await replica.saw('acted')
    const { pid } = replica

    await server.takeDown()
    const over = await replica.saw('term-over')
    const lastRenewal = await scenario.lease.heldBy('alpha')
    const livez = await replica.get('/livez')
    const readyz = await replica.get('/readyz')
    await server.bringBack()
    const again = await replica.events.waitFor(
      'a later term',
      (event) => event.kind === 'acted' && event.epoch > first.epoch,
    )

    expect(over).toMatchObject({ reason: 'renew-deadline', outcome: 'expired' })
    const ended = await replica.saw('loop-ended')
    const renewedAt = scenario.lease.entries.filter(({ at }) => at < over.at).at(-1)?.at ?? lastRenewal.at
    expect(ended.at - renewedAt).toBeLessThan(LEASE_NS)
    expect(replica.all('acted').filter(({ isHeld }) => !isHeld)).toEqual([])
    expect(livez.status).toBe(200)
    expect(readyz.status).toBe(200)
    expect(again.at).toBeGreaterThan(ended.at)
    expect(replica.pid).toBe(pid)
    expect((await replica.terminate()).code).toBe(0)
  })
})
