import { OptionsError } from '@tenure/core'
import { describe, expect, test } from 'vitest'
import { holderCheck } from '../src/fences/holder-check.ts'
import type { FencePolicy } from '../src/fences/fence-policy.ts'
import { termCheck } from '../src/fences/term-check.ts'
import { toYaml } from '../src/manifests/to-yaml.ts'

const GUARD = {
  lease: { name: 'janitor', namespace: 'ops' },
  resources: [{ apiGroup: 'apps', resources: ['deployments'] }],
} as const
const HOLDERS = { ...GUARD, writers: ['system:serviceaccount:ops:janitor'] } as const

describe('termCheck()', () => {
  test('guards updates of the resources and their subresources in the namespace of the lease, and denies', () => {
    const { policy, binding } = termCheck(GUARD)
    expect(policy.metadata?.name).toBe('term-check.janitor.ops.tenure.dev')
    expect(policy.spec?.matchConstraints?.resourceRules).toEqual([
      {
        apiGroups: ['apps'],
        apiVersions: ['*'],
        operations: ['CREATE', 'UPDATE'],
        resources: ['deployments', 'deployments/*'],
      },
    ])
    expect(binding.spec).toMatchObject({
      policyName: policy.metadata?.name,
      validationActions: ['Deny'],
      matchResources: { namespaceSelector: { matchExpressions: [{ operator: 'In', values: ['ops'] }] } },
    })
  })

  test('guards resources whose names have a single letter', () => {
    expect(() => termCheck({ ...GUARD, resources: [{ apiGroup: '', resources: ['x'] }] })).not.toThrow()
  })

  test('guards all namespaces, warns, and exempts users where that is asked for', () => {
    const { policy, binding } = termCheck({ ...GUARD, namespaces: 'all', mode: 'Warn', exemptUsers: ["o'hara"] })
    expect(binding.spec).toEqual({ policyName: policy.metadata?.name, validationActions: ['Warn'] })
    expect(policy.spec?.matchConditions?.[0]?.expression).toBe("!(request.userInfo.username in ['o\\'hara'])")
  })
})

describe('termCheck()', () => {
  test('has a second binding with the Lease as its parameter, which holds only while there is one', () => {
    const { policy, binding, epochBinding } = termCheck(GUARD)
    expect(binding.spec?.paramRef).toBeUndefined()
    expect(epochBinding?.metadata?.name).toBe('epochs.term-check.janitor.ops.tenure.dev')
    expect(epochBinding?.spec).toMatchObject({
      policyName: policy.metadata?.name,
      validationActions: ['Deny'],
      matchResources: binding.spec?.matchResources,
      paramRef: { name: 'janitor', namespace: 'ops', parameterNotFoundAction: 'Allow' },
    })
  })
})

describe('holderCheck()', () => {
  test('has the Lease as its parameter, and denies where there is none', () => {
    const { policy, binding } = holderCheck(HOLDERS)
    expect(policy.spec?.paramKind).toEqual({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' })
    expect(binding.spec?.paramRef).toEqual({
      name: 'janitor',
      namespace: 'ops',
      parameterNotFoundAction: 'Deny',
    })
  })
})

describe('a fence on the server', () => {
  const yaml = ({ policy, binding, epochBinding }: FencePolicy) =>
    toYaml([policy, binding, ...(epochBinding === undefined ? [] : [epochBinding])])

  test.each<[string, FencePolicy]>([
    ['the term check', termCheck(GUARD)],
    [
      'the term check of several namespaces that lets users pass',
      termCheck({
        ...GUARD,
        resources: [
          { apiGroup: '', resources: ['*'] },
          { apiGroup: '*', resources: ['widgets', 'gad-gets'] },
        ],
        namespaces: ['a', 'b'],
        mode: 'Audit',
        exemptUsers: ['admin', 'c:\\d'],
      }),
    ],
    ['the holder check by Pods', holderCheck(HOLDERS)],
    ['the holder check by annotations', holderCheck({ ...HOLDERS, recognizeBy: 'annotation', writers: ['a', 'b'] })],
    ['the holder check that warns', holderCheck({ ...HOLDERS, mode: 'Warn', namespaces: 'all' })],
  ])('%s is this', (_what, fence) => {
    expect(yaml(fence)).toMatchSnapshot()
  })

  test.each(['lease', 'resources', 'namespaces', 'mode', 'exemptUsers'])('knows the option %s', (name) => {
    expect(() => termCheck({ ...GUARD, [`${name}Q`]: 1 })).toThrow(
      `Unknown option \`${name}Q\` in \`termCheck()\`; did you mean \`${name}\`?`,
    )
  })

  test.each(['lease', 'resources', 'namespaces', 'mode', 'writers', 'recognizeBy'])('knows the option %s', (name) => {
    expect(() => holderCheck({ ...HOLDERS, [`${name}Q`]: 1 })).toThrow(
      `Unknown option \`${name}Q\` in \`holderCheck()\`; did you mean \`${name}\`?`,
    )
  })
})

describe('a fence on the server is refused', () => {
  test.each<[string, () => unknown, RegExp]>([
    ['without a Lease', () => termCheck({ ...GUARD, lease: undefined as never }), /`lease\.name`.*got `undefined`/],
    ['for a wrong name', () => termCheck({ ...GUARD, lease: { name: 'A b', namespace: 'ops' } }), /`lease\.name`/],
    ['without resources', () => termCheck({ ...GUARD, resources: [] }), /`resources` to name at least one/],
    [
      'for a subresource',
      () => termCheck({ ...GUARD, resources: [{ apiGroup: '', resources: ['pods/status'] }] }),
      /plural names without subresources.*`pods\/status`/,
    ],
    [
      'for a kind instead of a plural',
      () => termCheck({ ...GUARD, resources: [{ apiGroup: '', resources: ['ConfigMap'] }] }),
      /`ConfigMap`/,
    ],
    ['for an unknown mode', () => termCheck({ ...GUARD, mode: 'Block' as never }), /Warn, Audit, Deny, got `Block`/],
    ['for an unknown option', () => termCheck({ ...GUARD, modes: 'Deny' } as never), /`mode`/],
    [
      'for no list of resources',
      () => termCheck({ ...GUARD, resources: 7 as never }),
      /at least one resource, got `7`/,
    ],
    [
      'for a group without resources',
      () => termCheck({ ...GUARD, resources: [{ apiGroup: '', resources: [] }] }),
      /^Expected `resources\.resources` to hold plural names without subresources, such as `deployments`, got ``/,
    ],
    [
      'for a resource that is no text',
      () => termCheck({ ...GUARD, resources: [{ apiGroup: '', resources: [7 as never] }] }),
      /plural names.*got `7`/,
    ],
    ...['x*', '*x', '-a', 'a-', 'A', 'pods/log', ''].map((name): [string, () => unknown, RegExp] => [
      `for the resource "${name}"`,
      () => termCheck({ ...GUARD, resources: [{ apiGroup: '', resources: [name] }] }),
      /plural names/,
    ]),
    [
      'for a wrong API group',
      () => termCheck({ ...GUARD, resources: [{ apiGroup: 'A!', resources: ['pods'] }] }),
      /Expected `resources\.apiGroup` to be an RFC 1123 subdomain.*got `A!`/,
    ],
    [
      'for a wrong namespace',
      () => termCheck({ ...GUARD, namespaces: ['a.b'] }),
      /`namespaces` to be an RFC 1123 label/,
    ],
    [
      'for namespaces that are no list',
      () => termCheck({ ...GUARD, namespaces: 'ops' as never }),
      /Expected `namespaces` to be a list of namespaces, or `all`, got `ops`/,
    ],
    [
      'for a wrong namespace of the Lease',
      () => termCheck({ ...GUARD, lease: { name: 'a', namespace: 'a.b' } }),
      /`lease\.namespace`/,
    ],
    [
      'for writers that are no list',
      () => holderCheck({ ...HOLDERS, writers: 'a' as never }),
      /`writers` to name at least one user, got `a`/,
    ],
    ['without writers', () => holderCheck({ ...HOLDERS, writers: [] }), /`writers`/],
    [
      'for an unknown way to know the holder',
      () => holderCheck({ ...HOLDERS, recognizeBy: 'name' as never }),
      /pod, annotation, got `name`/,
    ],
  ])('%s', (_what, make, message) => {
    expect(make).toThrow(OptionsError)
    expect(make).toThrow(message)
  })
})
