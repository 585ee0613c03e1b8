import { afterAll, beforeAll, expect, it } from 'vitest'
import { type ApiServer, openApiServer } from './api-server.ts'
import { Scenario } from './scenario.ts'

let server: ApiServer
beforeAll(async () => {
  server = await openApiServer()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

it('builds no controller as a follower and makes no request but its watch once it has joined the standbys, however often the leader renews', async () => {
  await using scenario = await Scenario.open(server)
  // The documented defaults. With a shorter period, a busy machine would make the watch look silent.
  const [leader, follower] = await scenario.startFleet(['alpha', 'beta'], {
    timing: { retryPeriodMs: 2000 },
    controllers: [{ kind: 'loop' }, { kind: 'heavy', megabytes: 1 }],
  })
  if (follower === undefined) throw new Error('Expected a follower')
  const user = scenario.userOf(follower.name)
  // Two renewals, and the follower joins the standbys.
  await scenario.lease.changes(3)
  const before = await server.requestsOf(user)

  const renewals = await scenario.lease.changes(2)

  const after = await server.requestsOf(user)
  expect(renewals.map(({ holder }) => holder)).toEqual([leader.name, leader.name])
  expect(after.slice(before.length)).toEqual([])
  expect(before.filter(({ verb }) => verb === 'watch')).toHaveLength(1)
  // A renewal of the leader may be faster than the write that joins the standbys. Then it is sent again, at most twice.
  const joins = before.filter(({ verb }) => verb === 'update').length
  expect(joins).toBeGreaterThanOrEqual(1)
  expect(joins).toBeLessThanOrEqual(3)
  expect(follower.all('built')).toEqual([])
})
