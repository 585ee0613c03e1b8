import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ApiServer, openApiServer } from './api-server.ts'
import { withServer } from './kube-config-text.ts'
import { Scenario } from './scenario.ts'
import { TcpProxy } from './tcp-proxy.ts'

let server: ApiServer
beforeAll(async () => {
  server = await openApiServer()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

describe.concurrent('SIGTERM', () => {
  it('a second time while the term drains ends the process at once, with code 1, and leaves the lease', async () => {
    await using scenario = await Scenario.open(server)
    const replica = await scenario.start('alpha', { controllers: [{ kind: 'slow-drain', drainMs: 30_000 }] })
    await replica.saw('loop-began')

    replica.signal('SIGTERM')
    await replica.reached('draining')
    const secondAt = process.hrtime.bigint()
    const exit = await replica.terminate()

    expect(exit.code).toBe(1)
    expect(exit.at - secondAt).toBeLessThan(2_000_000_000n)
    expect(await scenario.storedLease()).toMatchObject({ holderIdentity: 'alpha', leaseDurationSeconds: 15 })
  })

  it('while the replica follows ends it with code 0 and leaves the lease of the other alone', async () => {
    await using scenario = await Scenario.open(server)
    await scenario.createLease('somebody', 3600)
    const replica = await scenario.start('alpha')
    await replica.follows('somebody')

    const exit = await replica.terminate()

    expect(exit.code).toBe(0)
    expect(replica.all('built')).toEqual([])
    expect(scenario.lease.entries).toHaveLength(1)
    expect(await scenario.storedLease()).toEqual(scenario.lease.last?.spec)
  })

  it('while an acquiring write is under way ends it with code 0, and nothing is held when the write succeeds', async () => {
    await using scenario = await Scenario.open(server)
    await using way = await TcpProxy.start(server.url)
    await scenario.createLease('somebody', 3600)
    const replica = await scenario.start('alpha', {
      credentials: withServer(server.kubeConfig(scenario.userOf('alpha')), way.url),
    })
    await replica.follows('somebody')

    // The watch goes on; the write waits for a connection of its own.
    way.holdNewConnections()
    await scenario.seizeLease('')
    await replica.reached('acquiring')
    const exited = replica.terminate()
    await replica.logged('signal')
    way.resume()

    expect((await exited).code).toBe(0)
    expect(replica.all('built')).toEqual([])
    expect(await scenario.lease.heldBy('alpha')).toBeDefined()
    expect(await scenario.storedLease()).toMatchObject({ leaseDurationSeconds: 1 })
    expect((await scenario.storedLease())?.holderIdentity ?? '').toBe('')
  })
})
