import { systemClock } from '@tenure/core/internal'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { bury } from '../src/coordinated/burial.ts'
import { LeaseClient } from '../src/locks/lease/lease-client.ts'
import { LEASES } from '../src/locks/lease/lease-object.ts'
import { EmbeddedCluster } from './support/embedded-cluster.ts'

const CANDIDATES = '/apis/coordination.k8s.io/v1beta1/namespaces/ops/leasecandidates'
const LEASE = '/apis/coordination.k8s.io/v1/namespaces/ops/leases'
const DEAD = { identity: 'dead', acquireTime: '2026-01-01T00:00:00.000000Z', processRef: 'process' }
const SPEC = {
  leaseName: 'job',
  binaryVersion: '1.36.0',
  emulationVersion: '1.36.0',
  strategy: 'OldestEmulationVersion',
  renewTime: '2026-01-01T00:00:00.000000Z',
}

let cluster: EmbeddedCluster
let client: LeaseClient

beforeEach(async () => {
  cluster = await EmbeddedCluster.start('ops', { runtimeConfig: { 'coordination.k8s.io/v1beta1': true } })
  client = new LeaseClient({ kubeConfig: cluster.kubeConfig() })
  const { identity: holderIdentity, acquireTime } = DEAD
  const spec = { holderIdentity, acquireTime, renewTime: acquireTime, leaseDurationSeconds: 3600 }
  await cluster.asAdmin('POST', LEASE, { metadata: { name: 'job' }, spec })
  await stand()
})

afterEach(async () => {
  await client.close()
  await cluster.stop()
})

const stand = () => cluster.asAdmin('POST', CANDIDATES, { metadata: { name: 'dead' }, spec: SPEC })

async function isStanding(): Promise<boolean> {
  const { items } = (await cluster.asAdmin('GET', CANDIDATES)) as { readonly items: readonly unknown[] }
  return items.length > 0
}

/** Buries the dead holder. `meanwhile` happens after its candidate was read, and before it would be deleted for the first time. */
async function buried(meanwhile: () => Promise<unknown>): Promise<void> {
  const { transport } = client
  const send = transport.send.bind(transport)
  let deletions = 0
  vi.spyOn(transport, 'send').mockImplementation(async (request) => {
    if (request.method === 'DELETE' && deletions++ === 0) await meanwhile()
    return await send(request)
  })
  const lease = { ...LEASES, namespace: 'ops', name: 'job' }
  await bury(DEAD, { client, lease, clock: systemClock, signal: new AbortController().signal })
  expect(await cluster.asAdmin('GET', `${LEASE}/job`)).toMatchObject({ spec: { holderIdentity: '' } })
}

const change = (spec: object) => cluster.asAdmin('PATCH', `${CANDIDATES}/dead`, { spec })

describe('the candidate of a holder that has provably died', () => {
  it('is deleted, also if the controller pings it meanwhile', async () => {
    await buried(() => change({ pingTime: '2026-01-01T00:00:05.000000Z' }))
    expect(await isStanding()).toBe(false)
  })

  it('stays if it renews meanwhile: a new process has its name', async () => {
    await buried(() => change({ renewTime: '2026-01-01T00:00:05.000000Z' }))
    expect(await isStanding()).toBe(true)
  })

  it('stays if another candidate of its name takes its place meanwhile', async () => {
    await buried(async () => {
      await cluster.asAdmin('DELETE', `${CANDIDATES}/dead`)
      await stand()
    })
    expect(await isStanding()).toBe(true)
  })
})
