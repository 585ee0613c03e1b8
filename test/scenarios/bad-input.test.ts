/** Errors that appear only while a replica runs, and the exit of its process. */
import { createServer } from 'node:net'
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ApiServer, openApiServer } from './api-server.ts'
import { withServer, withToken } from './kube-config-text.ts'
import { Scenario } from './scenario.ts'
import { BRISK } from './timings.ts'

const OPS = { port: 0, host: '127.0.0.1' } as const

let server: ApiServer
beforeAll(async () => {
  server = await openApiServer()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

describe.concurrent('a replica ends with code 2 and a clear message, and writes no lease', () => {
  it.each([
    ['for a wrong option', { timing: { retryPeriodMs: 9000 } }, /OptionsError: Expected `retryPeriodMs` × 1\.2/],
    ['for an unknown flag value', { argv: ['--feature-gates=Nope=true'] }, /OptionsError: Unknown feature gate `Nope`/],
    [
      'without a kubeconfig',
      { env: { KUBECONFIG: '' } },
      /KubeConfigError: Found no kubeconfig: KUBECONFIG is not set/,
    ],
    [
      'for a kubeconfig that is not there',
      { argv: ['--kubeconfig=/nowhere/config'] },
      /KubeConfigError: .*\/nowhere\/config/,
    ],
    ['for a kubeconfig that is none', { credentials: ': ]' }, /KubeConfigError: The kubeconfig .* cannot be read/],
  ])('%s', async (_what, options, message) => {
    await using scenario = await Scenario.open(server)
    const replica = await scenario.start('alpha', options)

    const exit = await replica.exited

    expect(exit.code).toBe(2)
    expect(replica.stderr).toMatch(message)
    expect(await scenario.storedLease()).toBeUndefined()
  })

  it('when something listens on its port already', async () => {
    await using scenario = await Scenario.open(server)
    await using taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const address = taken.address()
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0
    const replica = await scenario.start('alpha', { ops: { port, host: '127.0.0.1' } })

    const exit = await replica.exited

    expect(exit.code).toBe(2)
    expect(replica.stderr).toMatch(new RegExp(`OptionsError: Expected \`ops\\.port\` to be a free port.* ${port}`))
    expect(await scenario.storedLease()).toBeUndefined()
  })
})

describe.concurrent('a replica ends with code 2 and a clear message', () => {
  it('when a live replica leads under its identity, which goes on', async () => {
    await using scenario = await Scenario.open(server)
    const leader = await scenario.start('alpha')
    await leader.saw('acted')
    const double = await scenario.start('beta', { identity: 'alpha' })

    const exit = await double.exited

    expect(exit.code).toBe(2)
    expect(double.stderr).toMatch(/OptionsError: Expected `identity` to be unique.*`janitor` as `alpha`/)
    expect(double.all('built')).toEqual([])
    expect(leader.all('term-ending')).toEqual([])
    expect((await scenario.lease.changes(1)).map(({ holder }) => holder)).toEqual(['alpha'])
  })

  it.each([
    ['a controller has no name', [{ kind: 'nameless' } as const], /OptionsError: Expected the `name` of a controller/],
    [
      'two controllers have the same name',
      [{ kind: 'loop' } as const, { kind: 'loop' } as const],
      /OptionsError: Expected the controllers of a lease to have different names, got `loop` twice/,
    ],
  ])('when %s: none is run, and the lease is free again', async (_what, controllers, message) => {
    await using scenario = await Scenario.open(server)
    const replica = await scenario.start('alpha', { controllers })

    const exit = await replica.exited

    expect(exit.code).toBe(2)
    expect(replica.stderr).toMatch(message)
    expect(replica.all('loop-began')).toEqual([])
    expect((await scenario.storedLease())?.holderIdentity ?? '').toBe('')
  })
})

describe.concurrent('a replica stays, follows nobody and says in /readyz what is wrong', () => {
  it('when the server cannot be reached', async () => {
    await using scenario = await Scenario.open(server)
    const credentials = withServer(server.kubeConfig('anybody'), 'https://127.0.0.1:1')
    const replica = await scenario.start('alpha', { credentials, timing: BRISK, ops: OPS })
    await replica.logged('request-failed')

    expect(await replica.get('/readyz')).toMatchObject({ status: 500, body: expect.stringContaining('ECONNREFUSED') })
    expect((await replica.terminate()).code).toBe(0)
  })

  it('when the credentials are not accepted (401)', async () => {
    await using scenario = await Scenario.open(server)
    const credentials = withToken(server.kubeConfig('anybody'), 'not-a-token')
    const replica = await scenario.start('alpha', { credentials, timing: BRISK, ops: OPS })
    await replica.logged('request-failed')

    const { status, body } = await replica.get('/readyz')
    expect(status).toBe(500)
    expect(body).toMatch(/does not accept the credentials \(401\)/)
    expect((await replica.terminate()).code).toBe(0)
  })

  it('when a permission is missing (403), naming verb and resource, and leads once it is granted', async () => {
    await using scenario = await Scenario.open(server)
    const replica = await scenario.start('alpha', { granted: false, timing: BRISK, ops: OPS })
    await replica.logged('request-failed')

    const { status, body } = await replica.get('/readyz')
    expect(status).toBe(500)
    expect(body).toMatch(
      /\(403\).*must grant the verb "(get|list)" on the resource "leases" of API group "coordination/,
    )
    expect((await replica.get('/livez')).status).toBe(200)
    await scenario.grant('alpha')
    await replica.saw('acted')
  })
})

describe('a factory that throws', () => {
  it('is tried again within limits; then the replica steps down and leaves the lease to a healthy one', async () => {
    await using scenario = await Scenario.open(server)
    const broken = await scenario.start('alpha', {
      controllers: [{ kind: 'throwing-factory', message: 'no database' }],
      restart: { maxRestarts: 2, backoffMs: 10, withinMs: 60_000 },
    })
    const over = await broken.saw('term-over')
    const healthy = await scenario.start('beta')
    await healthy.saw('acted')

    expect(over).toMatchObject({ reason: 'controller-failed', outcome: 'released' })
    expect(broken.all('built')).toHaveLength(3)
    expect(broken.all('controller-failed').map(({ restartInMs }) => restartInMs === undefined)).toEqual([
      false,
      false,
      true,
    ])
    expect((await broken.logged('controller-failed'))['err']).toMatchObject({ message: 'no database' })
    expect(broken.isRunning).toBe(true)
  })
})
