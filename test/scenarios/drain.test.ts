import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ApiServer, openApiServer } from './api-server.ts'
import { Scenario } from './scenario.ts'

const DRAIN_MS = 5000
const SITE = /replica\.mjs:\d+:\d+/
const STUCK = /still running: .*never-ending\/deaf \(\d+ ms, started at .*replica\.mjs:\d+:\d+\)/
const OPS = { port: 0, host: '127.0.0.1' } as const

let server: ApiServer
beforeAll(async () => {
  server = await openApiServer()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

describe.concurrent('the release of a lease', () => {
  it('is held back for 5 s by a task that drains for 5 s, while renewals go on', async () => {
    await using scenario = await Scenario.open(server)
    const replica = await scenario.start('alpha', { controllers: [{ kind: 'slow-drain', drainMs: DRAIN_MS }] })
    await replica.saw('loop-began')

    const exited = replica.terminate()
    const ending = await replica.saw('term-ending')
    const released = await scenario.lease.heldBy('')
    const ended = await replica.saw('loop-ended')

    expect(released.at - ending.at).toBeGreaterThanOrEqual(BigInt(DRAIN_MS - 5) * 1_000_000n)
    expect(ended.at).toBeLessThan(released.at)
    const renewals = scenario.lease.entries.filter(({ at }) => at > ending.at && at < released.at)
    expect(renewals.length).toBeGreaterThanOrEqual(3)
    expect(new Set(renewals.map(({ holder }) => holder))).toEqual(new Set(['alpha']))
    const times = renewals.map(({ spec }) => spec.renewTime ?? '')
    expect(times).toEqual([...new Set(times)].sort())
    expect((await exited).code).toBe(0)
  })

  it('never happens while a task runs that does not end: log and /livez name it, and the process exits with code 11', async () => {
    await using scenario = await Scenario.open(server)
    const replica = await scenario.start('alpha', {
      controllers: [{ kind: 'never-ending' }, { kind: 'loop' }],
      timing: { drainTimeoutMs: 300, abortGraceMs: 2500 },
      ops: OPS,
    })
    await replica.saw('acted')

    const exited = replica.terminate()
    await replica.saw('hard-aborted')
    const livez = await replica.get('/livez')
    const exit = await exited

    expect(exit.code).toBe(11)
    expect(await scenario.storedLease()).toMatchObject({ holderIdentity: 'alpha', leaseDurationSeconds: 15 })
    const { msg, tasks } = await replica.logged('wedged')
    expect(msg).toMatch(STUCK)
    expect(msg).not.toContain('loop/')
    expect(tasks).toContainEqual({
      name: 'deaf',
      controller: 'never-ending',
      ageMs: expect.any(Number),
      spawnedAt: expect.stringMatching(SITE),
    })
    expect(livez.status).toBe(500)
    expect(livez.body).toMatch(/^\[-\]leader-election failed: /m)
    expect(livez.body).toMatch(STUCK)
  })

  it('never happens while a wedged replica holds on: it renews, and /livez names what is stuck', async () => {
    await using scenario = await Scenario.open(server)
    const replica = await scenario.start('alpha', {
      controllers: [{ kind: 'never-ending' }],
      timing: { drainTimeoutMs: 500, abortGraceMs: 300 },
      onWedged: 'hold',
      ops: OPS,
    })
    await replica.saw('loop-began')
    expect(await replica.get('/livez')).toMatchObject({ status: 200 })

    replica.stepDown().catch(() => {})
    await replica.saw('wedged')

    const livez = await replica.get('/livez')
    expect(livez.status).toBe(500)
    expect(livez.body).toMatch(STUCK)
    const renewals = await scenario.lease.changes(2)
    expect(renewals.map(({ holder }) => holder)).toEqual(['alpha', 'alpha'])
    expect(replica.isRunning).toBe(true)
  })
})
