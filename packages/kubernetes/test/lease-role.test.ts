import { expect, test } from 'vitest'
import { leaseRole } from '../src/manifests/lease-role.ts'

test('the Role allows to follow, update and create the lease, to record events, and nothing else', () => {
  const { role } = leaseRole({ name: 'janitor', namespace: 'ops' })
  expect(role).toEqual({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'Role',
    metadata: { name: 'janitor-leader-election', namespace: 'ops' },
    rules: [
      {
        apiGroups: ['coordination.k8s.io'],
        resources: ['leases'],
        resourceNames: ['janitor'],
        verbs: ['get', 'list', 'watch', 'update'],
      },
      { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create'] },
      { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
    ],
  })
})

test('the RoleBinding gives the Role to the service account that has the name of the lease', () => {
  const { roleBinding } = leaseRole({ name: 'janitor', namespace: 'ops' })
  expect(roleBinding).toMatchObject({
    kind: 'RoleBinding',
    metadata: { name: 'janitor-leader-election', namespace: 'ops' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'janitor-leader-election' },
    subjects: [{ kind: 'ServiceAccount', name: 'janitor', namespace: 'ops' }],
  })
})

test('the RoleBinding gives the Role to the subjects that were asked for, under the name that was asked for', () => {
  const subjects = [{ kind: 'User', name: 'alice', apiGroup: 'rbac.authorization.k8s.io' }]
  const { role, roleBinding } = leaseRole({ name: 'janitor', namespace: 'ops', subjects, roleName: 'stand' })
  expect(role.metadata?.name).toBe('stand')
  expect(roleBinding.roleRef.name).toBe('stand')
  expect(roleBinding.subjects).toEqual(subjects)
})

test('the Role for several leases allows to list and watch all of the namespace, and to write those alone', () => {
  const { role } = leaseRole({ name: 'north', others: ['south'], namespace: 'ops' })
  const leases = { apiGroups: ['coordination.k8s.io'], resources: ['leases'] }
  expect(role.rules?.slice(0, 3)).toEqual([
    { ...leases, resourceNames: ['north', 'south'], verbs: ['get', 'update'] },
    { ...leases, verbs: ['list', 'watch'] },
    { ...leases, verbs: ['create'] },
  ])
})

test('the Role allows to read Pods when followers look for proof of death, and not without a reason', () => {
  const pods = { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch'] }
  expect(leaseRole({ name: 'janitor', namespace: 'ops', proveDeath: true }).role.rules).toContainEqual(pods)
  expect(leaseRole({ name: 'janitor', namespace: 'ops' }).role.rules).not.toContainEqual(pods)
})

test('the Role allows to read Pods, once, when a replica watches its own', () => {
  const pods = { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch'] }
  const rules = leaseRole({ name: 'janitor', namespace: 'ops', watchPod: true, proveDeath: true }).role.rules
  expect(rules?.filter(({ resources }) => resources?.includes('pods'))).toEqual([pods])
})

test('the Role allows to write and read LeaseCandidates for the strategy that an election controller knows, and no other', () => {
  const of = (strategy: string) => leaseRole({ name: 'janitor', namespace: 'ops', strategy }).role.rules
  const rule = {
    apiGroups: ['coordination.k8s.io'],
    resources: ['leasecandidates'],
    verbs: ['create', 'delete', 'get', 'list', 'patch', 'watch'],
  }
  expect(of('OldestEmulationVersion')).toContainEqual(rule)
  expect(of('NewestVersion')).not.toContainEqual(rule)
})

test('the Role of a leader for life allows what its ConfigMap takes and to read Pods, and nothing else', () => {
  const configMaps = { apiGroups: [''], resources: ['configmaps'] }
  const pods = { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch'] }
  expect(leaseRole({ name: 'janitor', namespace: 'ops', forLife: true }).role.rules).toEqual([
    { ...configMaps, resourceNames: ['janitor'], verbs: ['get', 'list', 'watch', 'update', 'delete'] },
    { ...configMaps, verbs: ['create'] },
    pods,
  ])
})

test.each([
  'name',
  'others',
  'proveDeath',
  'watchPod',
  'strategy',
  'forLife',
  'members',
  'endpoints',
  'namespace',
  'subjects',
  'roleName',
])('the Role knows the option %s', (name) => {
  expect(() => leaseRole({ name: 'janitor', namespace: 'ops', [`${name}Q`]: 1 })).toThrow(
    `Unknown option \`${name}Q\` in \`leaseRole()\`; did you mean \`${name}\`?`,
  )
})
