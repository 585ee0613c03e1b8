import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { LeaseOptions } from 'tenure'
import { type ApiServer, openApiServer } from './api-server.ts'
import { inhabit, type Inhabited, wholeSecond } from './inhabited-replica.ts'
import { leasesPath } from './lease-journal.ts'
import { Scenario } from './scenario.ts'
import { BRISK, PATIENT } from './timings.ts'

let server: ApiServer
beforeAll(async () => {
  server = await openApiServer()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

/** A leader that has named its container on the lease, and a follower that watches it. */
async function leaderAndFollower(scenario: Scenario, timing: Partial<LeaseOptions>) {
  const leader = await inhabit(server, scenario, { name: 'alpha', timing })
  await leader.replica.reached('leading')
  const follower = await inhabit(server, scenario, { name: 'beta', timing })
  await follower.replica.follows('alpha')
  await scenario.lease.changes(2)
  const lease = await server.admin.expect(`${leasesPath(scenario.namespace)}/${scenario.leaseName}`)
  expect(JSON.stringify(lease)).toContain(leader.containerID)
  return { leader, follower }
}

/** How long after `at` the follower's controllers began, in milliseconds. */
async function beganAfter({ replica }: Inhabited, at: bigint): Promise<number> {
  const began = await replica.saw('loop-began')
  return Number(began.at - at) / 1e6
}

describe('a follower with proveDeath', () => {
  it('leads as soon as the kubelet has reported that the container of a killed leader has terminated', async () => {
    await using scenario = await Scenario.open(server)
    const { leader, follower } = await leaderAndFollower(scenario, PATIENT)
    leader.replica.signal('SIGKILL')
    const { at } = await leader.replica.exited
    const finishedAt = wholeSecond(Date.now() + 1000)
    await leader.report({ terminated: { containerID: leader.containerID, exitCode: 137, reason: 'Error', finishedAt } })
    const elapsedMs = await beganAfter(follower, at)
    // Long before the lease could expire.
    expect(elapsedMs).toBeLessThan(PATIENT.leaseDurationMs - 2 * PATIENT.retryPeriodMs)
    expect(follower.replica.all('loop-began')).toHaveLength(1)
    await follower.replica.logged('death-proved')
  })

  it('waits for the lease to expire when the Pod of a killed leader is only gone', async () => {
    await using scenario = await Scenario.open(server)
    const { leader, follower } = await leaderAndFollower(scenario, BRISK)
    leader.replica.signal('SIGKILL')
    const { at } = await leader.replica.exited
    await leader.deletePod()
    const elapsedMs = await beganAfter(follower, at)
    expect(elapsedMs).toBeGreaterThan(BRISK.leaseDurationMs - 2 * BRISK.retryPeriodMs)
    expect(follower.replica.logs.entries.filter(({ event }) => event === 'death-proved')).toEqual([])
  })
})
