import { describe, expect, test } from 'vitest'
import type { InputSeries } from './fired-alerts.ts'
import { fired, MINUTES, rising, type Values, written } from './rule-series.ts'

/** What kube-state-metrics shows of a lease of 15 s that `holders` hold one after another, a minute each. */
function lease(holders: readonly string[], { namespace = 'ops', name = 'web', renewed = true } = {}) {
  const minutes = holders.length
  const owner = (holder: string): InputSeries => ({
    series: `kube_lease_owner{namespace="${namespace}",lease="${name}",owner_kind="",owner_name="",lease_holder="${holder}"}`,
    values: holders.map((present) => (present === holder ? '1 1 1 1' : 'stale _ _ _')).join(' '),
  })
  const renewals = renewed ? rising(15, MINUTES(minutes)) : ([[0, MINUTES(minutes)]] satisfies Values)
  return [
    ...[...new Set(holders)].map(owner),
    { series: `kube_lease_renew_time{namespace="${namespace}",lease="${name}"}`, values: written(renewals) },
  ]
}

/** What kube-state-metrics shows of a container whose process ended with this code. */
const exited = (code: number): readonly InputSeries[] => [
  {
    series: 'kube_pod_container_status_last_terminated_exitcode{namespace="ops",pod="a",container="web"}',
    values: written([
      ['_', MINUTES(5)],
      [code, MINUTES(25)],
    ]),
  },
  {
    series: 'kube_pod_container_status_restarts_total{namespace="ops",pod="a",container="web"}',
    values: written([
      [0, MINUTES(5)],
      [1, MINUTES(25)],
    ]),
  },
]

const calm = (count: number): readonly string[] => Array.from({ length: count }, () => 'a')

describe('of any lease, by the metrics of kube-state-metrics, the rules', () => {
  test.each<readonly [string, readonly InputSeries[]]>([
    ['LeaseNotRenewed', lease(calm(30), { renewed: false })],
    ['LeaseFlapping', lease([...calm(10), ...'babababa'.split(''), ...calm(12)])],
    ['LeaseHolderExitedWedged', exited(11)],
  ])('fire %s alone in its situation', async (alert, series) => {
    expect(await fired('leases.rules.yaml', series)).toEqual([alert])
  })

  test.each<readonly [string, readonly InputSeries[]]>([
    ['its holder renews it', lease(calm(30))],
    ['a rollout replaces five replicas', lease([...calm(10), ...'bcdefffffffffffffffff'.split('')])],
    ['a node stopped renewing its own', lease(calm(30), { namespace: 'kube-node-lease', renewed: false })],
    ['an API server is gone', lease(calm(30), { name: 'apiserver-abc', renewed: false })],
    ['a program ended with code 1', exited(1)],
  ])('do not fire when %s', async (_case, series) => {
    expect(await fired('leases.rules.yaml', series)).toEqual([])
  })
})
