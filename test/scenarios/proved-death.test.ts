import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { leaseRole, type LeaseOptions } from 'tenure'
import { type ApiServer, openApiServer } from './api-server.ts'
import { leasesPath } from './lease-journal.ts'
import type { ReplicaProcess } from './replica-process.ts'
import { Scenario } from './scenario.ts'
import { BRISK, PATIENT } from './timings.ts'

let server: ApiServer
beforeAll(async () => {
  server = await openApiServer()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

/** A replica, and what the kubelet of its node does. */
interface Inhabited {
  readonly replica: ReplicaProcess
  /** Reports what became of the container. */
  report(state: object): Promise<void>
  /** Deletes the Pod at once, whether or not the container has ended. */
  deletePod(): Promise<void>
  readonly containerID: string
}

/** Starts a replica in a Pod, with the documented rights, and has the kubelet report that its container runs. */
async function inhabit(scenario: Scenario, name: string, timing: Partial<LeaseOptions>): Promise<Inhabited> {
  const { namespace, leaseName } = scenario
  const pods = `/api/v1/namespaces/${namespace}/pods`
  const containerID = `containerd://${name}-1`
  const subjects = [{ kind: 'User', name: scenario.userOf(name), apiGroup: 'rbac.authorization.k8s.io' }]
  const roleName = `${name}-proof`
  const { role, roleBinding } = leaseRole({ name: leaseName, namespace, subjects, roleName, proveDeath: true })
  const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`
  await server.admin.expect(`${rbac}/roles`, { method: 'POST', body: role })
  await server.admin.expect(`${rbac}/rolebindings`, { method: 'POST', body: roleBinding })
  const spec = { containers: [{ name: 'janitor', image: 'janitor:1' }], automountServiceAccountToken: false }
  // A controller makes it for every namespace, where one runs.
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } }
  await server.admin.request(`/api/v1/namespaces/${namespace}/serviceaccounts`, { method: 'POST', body: account })
  const body = { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace }, spec }
  await server.admin.expect(pods, { method: 'POST', body })
  const report = async (state: object) => {
    const pod = (await server.admin.expect(`${pods}/${name}`)) as object
    const status = {
      name: 'janitor',
      image: 'janitor:1',
      imageID: '',
      ready: true,
      restartCount: 0,
      containerID,
      state,
    }
    const changed = { ...pod, status: { phase: 'Running', containerStatuses: [status] } }
    await server.admin.expect(`${pods}/${name}/status`, { method: 'PUT', body: changed })
  }
  const replica = await scenario.start(name, {
    granted: false,
    timing: { ...timing, proveDeath: true },
    env: { POD_NAME: name, POD_NAMESPACE: namespace },
  })
  await report({ running: { startedAt: new Date().toISOString().replace(/\.\d+/, '') } })
  await replica.logged('container-known')
  return {
    replica,
    report,
    containerID,
    deletePod: async () =>
      void (await server.admin.expect(`${pods}/${name}?gracePeriodSeconds=0`, { method: 'DELETE' })),
  }
}

/** A leader that has named its container on the lease, and a follower that watches it. */
async function leaderAndFollower(scenario: Scenario, timing: Partial<LeaseOptions>) {
  const leader = await inhabit(scenario, 'alpha', timing)
  await leader.replica.reached('leading')
  const follower = await inhabit(scenario, 'beta', timing)
  await follower.replica.follows('alpha')
  await scenario.lease.changes(2)
  const lease = await server.admin.expect(`${leasesPath(scenario.namespace)}/${scenario.leaseName}`)
  expect(JSON.stringify(lease)).toContain(leader.containerID)
  return { leader, follower }
}

/** How long after `at` the follower's controllers began, in milliseconds. */
async function beganAfter({ replica }: Inhabited, at: bigint): Promise<number> {
  const began = await replica.saw('loop-began', { timeoutMs: 40_000 })
  return Number(began.at - at) / 1e6
}

describe('a follower with proveDeath', () => {
  it('leads as soon as the kubelet has reported that the container of a killed leader has terminated', async () => {
    await using scenario = await Scenario.open(server)
    const { leader, follower } = await leaderAndFollower(scenario, PATIENT)
    leader.replica.signal('SIGKILL')
    const { at } = await leader.replica.exited
    await leader.report({ terminated: { containerID: leader.containerID, exitCode: 137, reason: 'Error' } })
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
