import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Lock } from '@tenure/core'
import { LeaseLock, type LeaseLockOptions } from '@tenure/kubernetes'
import { ConfigMapLock, MultiLock } from '@tenure/kubernetes/legacy-locks'
import { openRealApiServer } from '../scenarios/api-server.ts'
import { leasesPath } from '../scenarios/lease-journal.ts'
import { Scenario } from '../scenarios/scenario.ts'
import { ScriptedReplica } from '../scenarios/scripted-replica.ts'

let server: Awaited<ReturnType<typeof openRealApiServer>>
beforeAll(async () => {
  server = await openRealApiServer({ leasesApart: true })
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

const configMap = (options: LeaseLockOptions) => new ConfigMapLock(options)
const lease = (options: LeaseLockOptions) => new LeaseLock(options)
const both = (options: LeaseLockOptions) => new MultiLock(configMap(options), lease(options))
const bothTheOtherWay = (options: LeaseLockOptions) => new MultiLock(lease(options), configMap(options))

/** One replica after the other leads with the given locks, and leaves. Fulfils with the epochs of their terms. */
async function migrate(scenario: Scenario, steps: readonly ((options: LeaseLockOptions) => Lock)[]): Promise<bigint[]> {
  const epochs: bigint[] = []
  for (const [index, createLock] of steps.entries()) {
    const kubeConfig = server.controlPlane.adminKubeConfig()
    await using replica = new ScriptedReplica(scenario, { identity: `replica-${index}`, kubeConfig, createLock })
    const { epoch } = await replica.saw('term-began')
    await replica.saw('renewed')
    epochs.push(epoch)
  }
  return epochs
}

const isGrowing = (epochs: readonly bigint[]) => epochs.every((epoch, index) => epoch > (epochs[index - 1] ?? 0n))

it('epochs grow over a migration from a ConfigMap to a Lease that is kept in an etcd of its own', async () => {
  await using scenario = await Scenario.open(server)
  const epochs = await migrate(scenario, [configMap, both, both, lease, lease])
  expect(epochs).toSatisfy(isGrowing)
  const { version } = scenario.lease.last ?? { version: '0' }
  // The control: the versions of the Lease alone are far below.
  expect(Number(version)).toBeLessThan(Number(epochs[0]))
})

it('epochs grow over the way back, over a rollback halfway, and with the Lease as primary', async () => {
  await using scenario = await Scenario.open(server)
  const steps = [lease, bothTheOtherWay, configMap, both, configMap, bothTheOtherWay, lease]
  expect(await migrate(scenario, steps)).toSatisfy(isGrowing)
})

it('an epoch that an operator states in the annotation of the lease is where a new store goes on from', async () => {
  await using scenario = await Scenario.open(server)
  const { namespace, leaseName: name } = scenario
  await server.admin.expect(leasesPath(namespace), {
    method: 'POST',
    body: {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name, namespace, annotations: { 'tenure.dev/least-epoch': '70000' } },
    },
  })
  expect(await migrate(scenario, [lease, lease])).toEqual([70_001n, 70_002n])
})
