import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { leaseRole } from '@tenure/kubernetes'
import { type ApiServer, openApiServer } from './api-server.ts'
import { createPod } from './inhabited-replica.ts'
import type { AnnotatedVersion } from './lease-journal.ts'
import { type Fleet, type ReplicaOptions, Scenario } from './scenario.ts'

let server: ApiServer
beforeAll(async () => {
  server = await openApiServer()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

const NAMES = ['alpha', 'beta', 'gamma']
const RBAC = '/apis/rbac.authorization.k8s.io/v1'

/** How a replica comes to be about to stop while its process goes on. */
interface Way {
  readonly leave: (scenario: Scenario, name: string) => Promise<void>
}

const DELETED: Way = {
  leave: async ({ namespace }, name) => {
    await server.admin.expect(`/api/v1/namespaces/${namespace}/pods/${name}`, { method: 'DELETE' })
  },
}

const CORDONED: Way = {
  leave: async (scenario, name) => {
    const path = `/api/v1/nodes/${nodeOf(scenario, name)}`
    for (;;) {
      const node = (await server.admin.expect(path)) as { readonly spec?: object }
      const body = { ...node, spec: { ...node.spec, unschedulable: true } }
      // The API server itself may have written in between.
      if ((await server.admin.request(path, { method: 'PUT', body })).status !== 409) return
    }
  },
}

/** The embedded API server has no nodes. */
const WAYS: readonly (readonly [string, Way])[] = [
  ['Pod is being deleted', DELETED] as const,
  ...(process.env['TENURE_API_SERVER'] === 'real' ? [['node is cordoned', CORDONED] as const] : []),
]

function nodeOf({ namespace }: Scenario, name: string): string {
  return `${namespace}-${name}`
}

/** Three replicas, each in a Pod of a node of its own, that may see both. Both followers are on the list. */
async function fleet(scenario: Scenario, options: ReplicaOptions = {}): Promise<Fleet> {
  for (const name of NAMES) await settle(scenario, name)
  const replicas = await Promise.all(
    NAMES.map((name) =>
      scenario.start(name, {
        ...options,
        granted: false,
        env: { POD_NAME: name, POD_NAMESPACE: scenario.namespace },
      }),
    ),
  )
  const leader = await scenario.leaderOf(replicas, 0)
  await listed(scenario, (standbys) => standbys.length === 2)
  return [leader, ...replicas.filter((replica) => replica !== leader)]
}

async function settle(scenario: Scenario, name: string): Promise<void> {
  const { namespace, leaseName } = scenario
  const nodeName = nodeOf(scenario, name)
  if (process.env['TENURE_API_SERVER'] === 'real') {
    const body = { apiVersion: 'v1', kind: 'Node', metadata: { name: nodeName } }
    await server.admin.expect('/api/v1/nodes', { method: 'POST', body })
  }
  const user = scenario.userOf(name)
  const subjects = [{ kind: 'User', name: user, apiGroup: 'rbac.authorization.k8s.io' }]
  const { role, roleBinding } = leaseRole({ name: leaseName, namespace, subjects, roleName: name, watchPod: true })
  await server.admin.expect(`${RBAC}/namespaces/${namespace}/roles`, { method: 'POST', body: role })
  await server.admin.expect(`${RBAC}/namespaces/${namespace}/rolebindings`, { method: 'POST', body: roleBinding })
  const rules = [{ apiGroups: [''], resources: ['nodes'], verbs: ['list', 'watch'] }]
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: user }
  const metadata = { name: user }
  await server.admin.expect(`${RBAC}/clusterroles`, { method: 'POST', body: { metadata, rules } })
  await server.admin.expect(`${RBAC}/clusterrolebindings`, { method: 'POST', body: { metadata, roleRef, subjects } })
  await createPod(server, namespace, { name, node: nodeName, finalizers: ['example.com/kubelet'] })
}

/** Waits until the last list of standbys is as it should be, and returns it. */
async function listed(scenario: Scenario, isIt: (standbys: readonly string[]) => boolean): Promise<readonly string[]> {
  const matches = (version: AnnotatedVersion) => isIt(standbysOf(version))
  const seen = await scenario.lease.versions.waitFor('the list of standbys', matches)
  return standbysOf(seen)
}

function standbysOf({ annotations }: AnnotatedVersion): readonly string[] {
  const note = JSON.parse(annotations['tenure.dev/standby'] ?? '{}') as { standbys?: { readonly identity: string }[] }
  return (note.standbys ?? []).map(({ identity }) => identity)
}

describe.each(WAYS)('a replica whose %s while its process goes on', (_, { leave }) => {
  it('is not the successor of a leader that steps down, although it was to be the first', async () => {
    await using scenario = await Scenario.open(server)
    const [leader] = await fleet(scenario)
    const [first = '', second = ''] = await listed(scenario, (standbys) => standbys.length === 2)
    const from = scenario.lease.versions.length
    await leave(scenario, first)
    await scenario.lease.versions.waitFor('a list without it', (version) => !standbysOf(version).includes(first), {
      from,
    })
    await leader.stepDown()
    const { holder } = await scenario.lease.waitFor(
      'a successor',
      (seen) => seen.holder !== '' && seen.holder !== leader.name,
    )
    expect(holder).toBe(second)
  })

  it('leads all the same when all others are about to stop as well', async () => {
    await using scenario = await Scenario.open(server)
    const [leader, ...followers] = await fleet(scenario, { rollout: 'off' })
    const from = scenario.lease.versions.length
    for (const name of NAMES) await leave(scenario, name)
    const list = await scenario.lease.versions.waitFor('one standby', (seen) => standbysOf(seen).length === 1, {
      from,
    })
    await leader.terminate()
    const successor = followers.find(({ name }) => name === standbysOf(list)[0])
    await successor?.saw('loop-began')
    await successor?.terminate()
    const last = followers.find((follower) => follower !== successor)
    await last?.saw('loop-began')
    expect(last?.isRunning).toBe(true)
  })
})

describe('a leader whose Pod is being deleted', () => {
  it('hands over before it gets SIGTERM', async () => {
    await using scenario = await Scenario.open(server)
    const [leader, ...followers] = await fleet(scenario)
    await DELETED.leave(scenario, leader.name)
    const successor = await scenario.leaderOf(followers, 1)
    await leader.follows(successor.name)
    expect(leader.isRunning).toBe(true)
  })
})
