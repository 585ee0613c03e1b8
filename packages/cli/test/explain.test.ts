import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sentencesOf } from '../src/explain/explain-replicas.ts'
import { startCommand, TestCluster, until } from './support/command.ts'
import { Replicas } from './support/replicas.ts'

const RBAC = 'rbac.authorization.k8s.io'
/** It may only read leases. */
const VIEWER = { name: 'viewer', token: 'secret' }

let cluster: TestCluster

beforeAll(async () => void (cluster = await TestCluster.start({ users: [VIEWER] })))
afterAll(() => cluster[Symbol.asyncDispose]())

/** Lets the viewer read the leases of the namespace, and nothing else. */
function allow(): void {
  const put = (resource: string, object: Readonly<Record<string, unknown>>): void =>
    cluster.put({ group: RBAC, resource, namespace: 'ops', name: 'viewer' }, { apiVersion: `${RBAC}/v1`, ...object })
  const rule = { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'list'] }
  put('roles', { kind: 'Role', rules: [rule] })
  put('rolebindings', {
    kind: 'RoleBinding',
    roleRef: { apiGroup: RBAC, kind: 'Role', name: 'viewer' },
    subjects: [{ kind: 'User', name: 'viewer', apiGroup: RBAC }],
  })
}

describe('tenure explain', () => {
  test('says that nobody holds a lease', async () => {
    cluster.putLease('free', { holderIdentity: '' })
    const { out, code } = await cluster.tenure(['explain', 'free', '-n', 'ops'])
    expect([code, out]).toEqual([
      0,
      'Nobody holds the lease. The first replica that sees this may acquire it.\nThe lease lists no standby.\n',
    ])
  })

  test('says of a lease that has expired what that means, and that its holder is no replica of Tenure', async () => {
    const time = '2020-01-01T00:00:00.000000Z'
    cluster.putLease('dead', {
      holderIdentity: 'web-1_a',
      leaseDurationSeconds: 15,
      acquireTime: time,
      renewTime: time,
    })
    const { out } = await cluster.tenure(['explain', 'dead', '-n', 'ops'])
    expect(out).toMatch(/It expired \S+ ago, counted from its last renewal, by the clock of the holder/)
    expect(out).toContain('it is no replica of Tenure, and ignores requests to step down.')
    expect(out).toContain('web-1_a: there is no Pod web-1, so it does not run as one, or has ended.\n')
  })

  test('says that the holder drains, to whom it offers the lease, and who tries first', async () => {
    await using replicas = new Replicas()
    const { promise, resolve } = Promise.withResolvers<void>()
    const kubeConfigPath = cluster.kubeConfigPath()
    const first = replicas.start({ kubeConfigPath, identity: 'first_1', stubborn: promise })
    await until(() => first.state.kind === 'leading')
    const second = replicas.start({ kubeConfigPath, identity: 'second_1' })
    await until(() => second.candidacies[0]?.standing === 'standing')
    await cluster.tenure(['transfer', 'janitor', '-n', 'ops', '--to', 'second', '--timeout', '1s'])
    const { out } = await cluster.tenure(['explain', 'janitor', '-n', 'ops', '--no-replicas'])
    resolve()
    expect(out).toContain('Somebody requested that it is handed over to second_1.\n')
    expect(out).toContain('the holder waits for its tasks and then hands the lease to second_1.\n')
    expect(out).toContain('If the holder ends, second_1 tries first (of second_1).\n')
  })

  test('says whom the holder has offered the lease, and that its term goes on until the answer', async () => {
    await using replicas = new Replicas()
    const first = replicas.start({ kubeConfigPath: cluster.kubeConfigPath(), identity: 'first_1' })
    await until(() => first.state.kind === 'leading')
    const asked = startCommand([
      'transfer',
      'janitor',
      '-n',
      'ops',
      '--to',
      'third_1',
      '--kubeconfig',
      cluster.kubeConfigPath(),
    ])
    await until(() =>
      Object.keys(cluster.lease('janitor')?.metadata.annotations ?? {}).includes('tenure.dev/transfer-offer'),
    )
    const explained = await cluster.tenure(['explain', 'janitor', '-n', 'ops', '--no-replicas'])
    const { out } = await cluster.tenure(['status', 'janitor', '-n', 'ops'])
    expect(explained.out).toContain('The holder offers the lease to third_1, which has not answered.\n')
    expect(out).not.toContain('draining')
    expect((await asked.done).code).toBe(1)
    expect(first.state.kind).toBe('leading')
  })

  test('says that a Pod cannot be read, with the verb and the resource', async () => {
    cluster.putLease('held', { holderIdentity: 'web-1_a' })
    allow()
    const { out, code } = await cluster.tenure(['explain', 'held', '-n', 'ops'], 'viewer')
    expect(code).toBe(0)
    expect(out).toMatch(
      /^web-1_a: it was not asked: Could not get pods ops\/web-1: .* grant the verb "get" on the resource "pods"/m,
    )
  })
})

describe('What a replica reports', () => {
  const pages = (given: Readonly<Record<string, string>>) => async (path: string) => given[path.split('?')[0] ?? '']

  test('is why it leads the lease, and what holds up its drain', async () => {
    const ask = pages({
      '/explain':
        'other: It follows web-2_b.\njanitor: Its term is ending (shutdown): it waits for janitor/sweep (3211 ms, started at a.ts:3:7).\n',
      '/livez': '[+]leader-election ok\n',
      '/readyz': '[-]shutdown failed: it stops\n',
    })
    expect(await sentencesOf(ask, 'janitor')).toEqual([
      'its term is ending (shutdown): it waits for janitor/sweep (3211 ms, started at a.ts:3:7)',
      'its check shutdown failed: it stops',
    ])
    expect(await sentencesOf(ask, 'third')).toContain('it does not compete for third')
  })

  test('is which writes its gates have refused, if there are any', async () => {
    const ask = pages({
      '/explain': 'janitor: It follows web-2_b.\n',
      '/livez': '[+]leader-election ok\n',
      '/readyz': '[+]standby ok\n',
      '/metrics':
        'tenure_gate_refusals_total{controller="sweeper",verb="PATCH"} 3\ntenure_gate_refusals_total{controller="sweeper",verb="POST"} 0\ntenure_gate_refusals_total{controller="sweeper",verb="DELETE"} 1\n',
    })
    expect(await sentencesOf(ask, 'janitor')).toEqual([
      'it follows web-2_b',
      'its health checks pass',
      'its gates have refused 3 PATCH requests of sweeper',
      'its gates have refused 1 DELETE request of sweeper',
    ])
  })

  test('is read from its metrics if its version of Tenure does not explain itself', async () => {
    const ask = pages({
      '/livez': '[+]leader-election ok\n',
      '/readyz': '[+]standby ok\n',
      '/metrics':
        'tenure_tasks{lease="janitor",controller="sweeper"} 2\ntenure_tasks{lease="janitor",controller="poller"} 1\n',
    })
    expect(await sentencesOf(ask, 'janitor')).toEqual([
      'its health checks pass',
      'its controller sweeper has 2 tasks',
      'its controller poller has 1 task',
    ])
  })
})
