import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Finding } from '../src/doctor/finding.ts'
import { latencyFindings } from '../src/doctor/timing.ts'
import { budgetFindings, podFindings } from '../src/doctor/workload.ts'
import { TestCluster, until } from './support/command.ts'
import { Replicas } from './support/replicas.ts'

let cluster: TestCluster

beforeAll(async () => void (cluster = await TestCluster.start({ users: [{ name: 'nobody', token: 'secret' }] })))
afterAll(() => cluster[Symbol.asyncDispose]())

const problemsOf = (findings: readonly Finding[]) => findings.map(({ severity, problem }) => `${severity}: ${problem}`)

describe('tenure doctor', () => {
  test('finds what is wrong with a fleet, each with its remedy, and ends with the code of the worst', async () => {
    await using replicas = new Replicas()
    const first = replicas.start({ kubeConfigPath: cluster.kubeConfigPath(), identity: 'web' })
    await until(() => first.state.kind === 'leading')
    const { out, code } = await cluster.tenure(['doctor', 'janitor', '-n', 'ops'])
    expect(code).toBe(3)
    expect(out).toContain('WARNING  lease ops/janitor: the identity web has no part that changes with each start')
    expect(out).toContain('WARNING  lease ops/janitor: no replica stands by')
    expect(out).toContain('NOTE  lease ops/janitor: no admission policy compares writes with it')
    expect(out.trimEnd().split('\n').at(-1)).toMatch(/^Checked 1 lease: \d+ findings\.$/)
  })

  test('reports a malformed lease as an error, and prints JSON', async () => {
    cluster.putLease('odd', { holderIdentity: 'x' })
    const { out, code } = await cluster.tenure(['doctor', 'odd', '-n', 'ops', '-o', 'json'])
    expect(code).toBe(4)
    expect(problemsOf(JSON.parse(out) as Finding[])).toContain('error: states no renew time')
  })

  test('finds the rights that a service account lacks', async () => {
    const args = ['doctor', 'odd', '-n', 'ops', '--service-account', 'janitor', '-o', 'json']
    const problems = problemsOf(JSON.parse((await cluster.tenure(args)).out) as Finding[])
    expect(problems).toContain('error: may not update leases.coordination.k8s.io odd, which a replica does')
    expect(problems).toContain('warning: may not create events, which a replica does')
  })

  test('names the verb that the user lacks', async () => {
    const { err, code } = await cluster.tenure(['doctor', '-n', 'ops'], 'nobody')
    expect([code, err]).toEqual([1, expect.stringContaining('must grant the verb "list" on the resource "leases"')])
  })
})

describe('The Pod of a replica', () => {
  const metadata = { name: 'web-1', namespace: 'ops', labels: { app: 'web' } }
  const probes = { livenessProbe: {}, readinessProbe: {} }

  test('has enough time, probes, no fixed identity and no gate that is off', () => {
    const spec = { terminationGracePeriodSeconds: 34, containers: [probes] }
    expect(podFindings({ metadata, spec })).toEqual([])
    const env = [
      { name: 'TENURE_IDENTITY', value: 'web' },
      { name: 'TENURE_FEATURE_GATES', value: 'ReleaseLockOnExit=false' },
    ]
    expect(problemsOf(podFindings({ metadata, spec: { containers: [{ env }] } }))).toEqual([
      expect.stringContaining('warning: its grace period is 30 s'),
      'warning: none of its containers has a livenessProbe',
      'warning: none of its containers has a readinessProbe',
      expect.stringContaining('error: `TENURE_IDENTITY` is `web` in every replica'),
      'note: the feature gate ReleaseLockOnExit=false turns a part of the handover off',
    ])
  })

  test('is covered by a budget that allows its eviction', () => {
    const budget = (maxUnavailable: number, app = 'web') => ({
      metadata: { name: 'web', namespace: 'ops' },
      spec: { maxUnavailable, selector: { matchLabels: { app } } },
    })
    expect(budgetFindings({ metadata }, [budget(1)])).toEqual([])
    expect(problemsOf(budgetFindings({ metadata }, [budget(1, 'other')]))).toEqual([
      'warning: no PodDisruptionBudget covers it, so a node drain may evict all replicas at once',
    ])
    expect(problemsOf(budgetFindings({ metadata }, [budget(0)]))).toEqual([
      'error: it allows no disruption, so a node with a replica cannot be drained',
    ])
  })
})

test.each([
  [1000, []],
  [2000, ['warning']],
  [3000, ['error']],
])('A latency of %i ms under a lease of 15 s is %j', (ms, severities) => {
  expect(latencyFindings('lease', ms, 15_000).map(({ severity }) => severity)).toEqual(severities)
})
