import { loadAllYaml, type V1Deployment, type V1FlowSchema, type V1PodDisruptionBudget } from '@kubernetes/client-node'
import { OptionsError } from '@tenure/core'
import { describe, expect, test } from 'vitest'
import { leaseRole } from '../src/manifests/lease-role.ts'
import { manifests } from '../src/manifests/manifests.ts'
import { type ManifestsOptions, resolveManifestsOptions } from '../src/manifests/manifests-options.ts'
import { toYaml } from '../src/manifests/to-yaml.ts'

const options: ManifestsOptions = { name: 'janitor', namespace: 'ops', image: 'registry.example.com/janitor:1' }

/** The kinds that the tests look into. */
interface Kinds {
  readonly Deployment: V1Deployment
  readonly FlowSchema: V1FlowSchema
  readonly PodDisruptionBudget: V1PodDisruptionBudget
}

function find<K extends keyof Kinds>(kind: K, changes: Partial<ManifestsOptions> = {}): Kinds[K] {
  return manifests({ ...options, ...changes }).find((object) => object.kind === kind) as Kinds[K]
}

describe('the manifests', () => {
  test('come in an order in which they can be applied, all in the namespace but the one that belongs to the cluster', () => {
    const objects = manifests(options).map(({ kind, metadata }) => `${kind} ${metadata?.namespace}/${metadata?.name}`)
    expect(objects).toEqual([
      'ServiceAccount ops/janitor',
      'Role ops/janitor-leader-election',
      'RoleBinding ops/janitor-leader-election',
      'FlowSchema undefined/ops-janitor-leader-election',
      'PodDisruptionBudget ops/janitor',
      'Deployment ops/janitor',
    ])
  })

  test('add the right to see that a node is drained, on all nodes, when that is asked for', () => {
    const objects = manifests({ ...options, watchNode: true })
    const names = objects.map(({ kind, metadata }) => `${kind} ${metadata?.namespace}/${metadata?.name}`)
    expect(names.slice(2, 5)).toEqual([
      'RoleBinding ops/janitor-leader-election',
      'ClusterRole undefined/ops-janitor-nodes',
      'ClusterRoleBinding undefined/ops-janitor-nodes',
    ])
    expect(objects[1]).toMatchObject({
      rules: expect.arrayContaining([expect.objectContaining({ resources: ['pods'] })]),
    })
    expect(objects[3]).toMatchObject({ rules: [{ apiGroups: [''], resources: ['nodes'], verbs: ['list', 'watch'] }] })
    expect(objects[4]).toMatchObject({
      roleRef: { kind: 'ClusterRole', name: 'ops-janitor-nodes' },
      subjects: [{ kind: 'ServiceAccount', name: 'janitor', namespace: 'ops' }],
    })
  })

  test.each([
    [{}, 34],
    [{ drainTimeoutMs: 60_000 }, 74],
    [{ drainTimeoutMs: 0, abortGraceMs: 100, cleanupTimeoutMs: 0 }, 7],
  ])('give a drain with %j the time it may take, and some more: %d s', (changes, seconds) => {
    const { spec } = find('Deployment', changes)
    expect(spec?.template.spec?.terminationGracePeriodSeconds).toBe(seconds)
  })

  test('probe the operations port, and tell the replica who it is', () => {
    const [container] = find('Deployment', { opsPort: 9090 }).spec?.template.spec?.containers ?? []
    expect(container?.ports).toEqual([{ name: 'ops', containerPort: 9090, protocol: 'TCP' }])
    const paths = [container?.startupProbe, container?.livenessProbe, container?.readinessProbe]
    expect(paths.map((probe) => `${probe?.httpGet?.path} ${probe?.httpGet?.port}`)).toEqual([
      '/livez ops',
      '/livez ops',
      '/readyz ops',
    ])
    const names = container?.env?.map(({ name, value }) => [name, value ?? 'of the Pod'])
    expect(Object.fromEntries(names ?? [])).toEqual({
      TENURE_LEASE: 'janitor',
      TENURE_NAMESPACE: 'ops',
      TENURE_OPS_PORT: '9090',
      TENURE_REVISION: 'of the Pod',
      TENURE_ZONE: 'of the Pod',
      POD_NAME: 'of the Pod',
      POD_NAMESPACE: 'of the Pod',
      CONTAINER_NAME: 'janitor',
    })
  })

  test('put the lease traffic of the service account, and nothing else, into the priority level of elections', () => {
    const { spec } = find('FlowSchema')
    expect(spec?.priorityLevelConfiguration).toEqual({ name: 'leader-election' })
    expect(spec?.rules?.[0]?.subjects).toEqual([
      { kind: 'ServiceAccount', serviceAccount: { name: 'janitor', namespace: 'ops' } },
    ])
    expect(spec?.rules?.[0]?.resourceRules?.[0]).toMatchObject({ resources: ['leases'], namespaces: ['ops'] })
  })

  test('of a leader for life have the rights, the priority and the variables that its ConfigMap takes', () => {
    const [container] = find('Deployment', { forLife: true }).spec?.template.spec?.containers ?? []
    expect(container?.env).toContainEqual({
      name: 'POD_UID',
      valueFrom: { fieldRef: { fieldPath: 'metadata.uid' } },
    })
    const rules = find('FlowSchema', { forLife: true }).spec?.rules?.[0]?.resourceRules
    expect(rules?.[0]).toMatchObject({ apiGroups: [''], resources: ['configmaps'], namespaces: ['ops'] })
    const { role } = leaseRole({ name: 'janitor', namespace: 'ops', forLife: true })
    const objects = manifests({ ...options, forLife: true })
    expect(objects).toContainEqual(role)
    // Followers read the node of the leader.
    const clusterRole = objects.find(({ kind }) => kind === 'ClusterRole')
    expect(clusterRole).toMatchObject({ rules: [{ apiGroups: [''], resources: ['nodes'], verbs: ['get'] }] })
    expect(objects.find(({ kind }) => kind === 'ClusterRoleBinding')).toMatchObject({
      roleRef: { name: clusterRole?.metadata?.name },
      subjects: [{ kind: 'ServiceAccount', name: 'janitor', namespace: 'ops' }],
    })
  })

  test('select the very Pods of the Deployment for disruption, one at a time', () => {
    const budget = find('PodDisruptionBudget').spec
    expect(budget?.maxUnavailable).toBe(1)
    expect(budget?.selector?.matchLabels).toEqual(find('Deployment').spec?.template.metadata?.labels)
  })

  test('survive the way through YAML, without references', () => {
    const text = toYaml(manifests(options))
    const labels = { app: 'janitor' }
    expect(toYaml([{ metadata: { labels, annotations: labels } }])).not.toMatch(/[&*]/)
    const back = loadAllYaml(text).map((object) => JSON.parse(JSON.stringify(object)) as unknown)
    expect(back).toEqual(JSON.parse(JSON.stringify(manifests(options))))
  })

  test.each<[string, Partial<ManifestsOptions>]>([
    ['a plain program', {}],
    [
      'a program with everything',
      {
        replicas: 3,
        others: ['north', 'south.eu'],
        proveDeath: true,
        watchNode: true,
        strategy: 'OldestEmulationVersion',
        members: true,
        endpoints: 'web',
        opsPort: 9090,
      },
    ],
    ['a leader for life that sees its node', { forLife: true, watchNode: true }],
    ['a program that watches its Pod', { watchPod: true, strategy: 'Other' }],
    ['a member', { members: true }],
  ])('of %s are these', (_what, changes) => {
    expect(toYaml(manifests({ ...options, ...changes }))).toMatchSnapshot()
  })

  test.each<Partial<ManifestsOptions>>([
    { replicas: 1, opsPort: 1, drainTimeoutMs: 0, abortGraceMs: 0, cleanupTimeoutMs: 0 },
    {
      replicas: 1000,
      opsPort: 65_535,
      drainTimeoutMs: 86_400_000,
      abortGraceMs: 86_400_000,
      cleanupTimeoutMs: 86_400_000,
    },
  ])('take the bounds of every number: %j', (changes) => {
    expect(resolveManifestsOptions({ ...options, ...changes })).toMatchObject(changes)
  })

  test.each<[keyof ManifestsOptions, number, string]>([
    ['replicas', 1001, 'between 1 and 1000'],
    ['opsPort', 0, 'between 1 and 65535'],
    ['opsPort', 65_536, 'between 1 and 65535'],
    ['drainTimeoutMs', -1, 'between 0 and 86400000'],
    ['abortGraceMs', 86_400_001, 'between 0 and 86400000'],
    ['cleanupTimeoutMs', NaN, 'between 0 and 86400000'],
  ])('refuse %s out of its bounds, such as %d', (name, value, bounds) => {
    expect(() => manifests({ ...options, [name]: value })).toThrow(
      `Expected \`${name}\` to be a whole number ${bounds}, got \`${value}\``,
    )
  })

  test.each([
    'others',
    'proveDeath',
    'watchPod',
    'watchNode',
    'forLife',
    'strategy',
    'members',
    'endpoints',
    'opsPort',
  ])('know the option %s', (name) => {
    expect(() => manifests({ ...options, [`${name}Q`]: 1 })).toThrow(
      `Unknown option \`${name}Q\` in \`manifests()\`; did you mean \`${name}\`?`,
    )
  })

  test.each<[Partial<ManifestsOptions>, string]>([
    [{ image: 7 as never }, 'Expected `image` to be the name of a container image, got `7`'],
    [{ strategy: '' }, 'Expected `strategy` to be the name of a strategy, got ``'],
    [{ strategy: 7 as never }, 'Expected `strategy` to be the name of a strategy, got `7`'],
    [{ endpoints: 'a.b' }, 'Expected `endpoints` to be an RFC 1123 label'],
    [{ members: 1 as never }, 'Expected `members` to be true or false, got `1`'],
    [{ watchPod: 1 as never }, 'Expected `watchPod` to be true or false, got `1`'],
    [{ watchNode: 1 as never }, 'Expected `watchNode` to be'],
    [{ name: 'a.b' }, 'Expected `name` to be an RFC 1123 label'],
    [{ namespace: 'a.b' }, 'Expected `namespace` to be an RFC 1123 label'],
    [{ image: ' ' }, 'Expected `image` to be the name of a container image'],
    [{ replicas: 0 }, 'Expected `replicas` to be a whole number between 1 and 1000, got `0`'],
    [{ others: ['Not!'] }, 'Expected `others` to be an RFC 1123 subdomain'],
    [{ forLife: 'yes' } as unknown as Partial<ManifestsOptions>, 'Expected `forLife` to be true or false, got `yes`'],
    [{ drainTimeoutMs: 1.5 }, 'Expected `drainTimeoutMs` to be a whole number'],
    [{ port: 1 } as Partial<ManifestsOptions>, 'Unknown option `port`'],
  ])('refuse %j', (changes, message) => {
    const build = () => manifests({ ...options, ...changes })
    expect(build).toThrow(OptionsError)
    expect(build).toThrow(message)
  })
})
