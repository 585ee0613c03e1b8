import { afterAll, beforeAll, expect, it } from 'vitest'
import { type ApiServer, openApiServer } from '../scenarios/api-server.ts'
import { inhabit, wholeSecond } from '../scenarios/inhabited-replica.ts'
import { leasesPath } from '../scenarios/lease-journal.ts'
import { Scenario } from '../scenarios/scenario.ts'
import { PATIENT } from '../scenarios/timings.ts'

let server: ApiServer
beforeAll(async () => {
  server = await openApiServer()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

/** What the lease says of the container of its holder. */
async function namedOnLease(scenario: Scenario): Promise<string> {
  return JSON.stringify(await server.admin.expect(`${leasesPath(scenario.namespace)}/${scenario.leaseName}`))
}

it('a leader whose container was restarted keeps its lease when the death of its predecessor is reported late', async () => {
  await using scenario = await Scenario.open(server)
  const oldStart = Date.now() - 3000
  const old = 'containerd://old'
  const leader = await inhabit(server, scenario, {
    name: 'alpha',
    timing: PATIENT,
    runningSince: oldStart,
    containerID: old,
  })
  await leader.replica.reached('leading')
  const follower = await inhabit(server, scenario, { name: 'beta', timing: PATIENT })
  await follower.replica.follows('alpha')
  while (!(await namedOnLease(scenario)).includes(old)) await scenario.lease.changes(1)

  const lastState = {
    terminated: { containerID: old, exitCode: 1, reason: 'Error', finishedAt: wholeSecond(oldStart + 1000) },
  }
  const own = { containerID: 'containerd://own', lastState }
  await leader.report(lastState)
  await leader.replica.logged('container-withdrawn')
  await leader.report({ running: { startedAt: wholeSecond(Date.now()) } }, own)
  while (!(await namedOnLease(scenario)).includes(own.containerID)) await scenario.lease.changes(1)
  expect(follower.replica.all('loop-began')).toEqual([])

  leader.replica.signal('SIGKILL')
  const { at } = await leader.replica.exited
  const finishedAt = wholeSecond(Date.now() + 1000)
  await leader.report({ terminated: { containerID: own.containerID, exitCode: 137, finishedAt } }, own)
  const began = await follower.replica.saw('loop-began')
  expect(Number(began.at - at) / 1e6).toBeLessThan(PATIENT.leaseDurationMs - 2 * PATIENT.retryPeriodMs)
})
