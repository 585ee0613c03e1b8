import { HealthProbe } from '@tenure/core'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { leaseRole } from '../src/manifests/lease-role.ts'
import { memberLeaseName } from '../src/membership/member-lease.ts'
import { membership } from '../src/membership/create-membership.ts'
import { EmbeddedCluster } from './support/embedded-cluster.ts'

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/ops/leases'
const RBAC = '/apis/rbac.authorization.k8s.io/v1/namespaces/ops'

let cluster: EmbeddedCluster

beforeAll(async () => {
  cluster = await EmbeddedCluster.start()
  const subjects = [{ kind: 'User', name: 'member', apiGroup: 'rbac.authorization.k8s.io' }]
  const { role, roleBinding } = leaseRole({ name: 'shop', namespace: 'ops', members: true, subjects })
  await cluster.asAdmin('POST', `${RBAC}/roles`, role)
  await cluster.asAdmin('POST', `${RBAC}/rolebindings`, roleBinding)
})

afterAll(() => cluster.stop())

async function join(identity: string, user = 'member') {
  const member = membership({ group: 'shop', namespace: 'ops', kubeConfig: cluster.kubeConfig(user), zone: 'a' })
  await member.start({ identity, candidacies: [], readyz: new HealthProbe() } as never)
  return member
}

test('members with the documented rights see each other join and leave on the embedded API server', async () => {
  const one = await join('one')
  const changes: string[] = []
  one.on(({ kind, member }) => changes.push(`${kind} ${member.identity} ${member.zone}`))
  const two = await join('two')
  await vi.waitFor(() => expect(one.members.map(({ identity }) => identity)).toEqual(['one', 'two']), 10_000)
  await vi.waitFor(() => expect(two.members.map(({ identity }) => identity)).toEqual(['one', 'two']), 10_000)
  await cluster.asAdmin('DELETE', `${LEASES}/${memberLeaseName('shop', 'one')}`)
  await vi.waitFor(() => expect(changes).toContain('joined one a'), 10_000)
  await two.stop()
  await vi.waitFor(() => expect(changes.at(-1)).toBe('left two a'), 10_000)
  await one.stop()
  expect(await cluster.asAdmin('GET', LEASES)).toMatchObject({ items: [] })
})

test('without rights the start rejects with verb, resource and namespace', async () => {
  await expect(join('one', 'nobody')).rejects.toThrow(
    /Could not create leases.coordination.k8s.io ops\/shop-.*: .*"create" on the resource "leases" of API group "coordination.k8s.io"/,
  )
})
