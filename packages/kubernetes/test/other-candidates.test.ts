import type { Clock } from '@tenure/core'
import { systemClock } from '@tenure/core/internal'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { OtherCandidates } from '../src/coordinated/other-candidates.ts'
import { LeaseClient } from '../src/locks/lease/lease-client.ts'
import { EmbeddedCluster } from './support/embedded-cluster.ts'

const CANDIDATES = '/apis/coordination.k8s.io/v1beta1/namespaces/ops/leasecandidates'
const VERSIONS = { binaryVersion: '1.36.0', emulationVersion: '1.36.0', strategy: 'OldestEmulationVersion' }
const RENEWED = '2026-01-01T00:00:00.000000Z'
const PINGED = '2026-01-01T00:00:01.000000Z'

let cluster: EmbeddedCluster
let client: LeaseClient
let now: number
let others: OtherCandidates

beforeEach(async () => {
  cluster = await EmbeddedCluster.start('ops', { runtimeConfig: { 'coordination.k8s.io/v1beta1': true } })
  client = new LeaseClient({ kubeConfig: cluster.kubeConfig() })
  now = 0
  const clock: Clock = { ...systemClock, now: () => now }
  others = new OtherCandidates({ client, namespace: 'ops', leaseName: 'job', clock })
})

afterEach(async () => {
  await client.close()
  await cluster.stop()
})

async function create(name: string, spec: object): Promise<void> {
  const body = { metadata: { name }, spec: { leaseName: 'job', ...VERSIONS, renewTime: RENEWED, ...spec } }
  await cluster.asAdmin('POST', CANDIDATES, body)
}

async function lookAt(ms: number): Promise<readonly string[]> {
  now = ms
  await others.look(new AbortController().signal)
  const { items } = (await cluster.asAdmin('GET', CANDIDATES)) as {
    readonly items: readonly { readonly metadata: { readonly name: string } }[]
  }
  return items.map(({ metadata }) => metadata.name)
}

describe('a candidate of the same lease that does not answer its ping', () => {
  it('is deleted when this replica has seen the ping for 15 s', async () => {
    await create('dead', { pingTime: PINGED })
    expect(await lookAt(0)).toEqual(['dead'])
    expect(await lookAt(14_999)).toEqual(['dead'])
    expect(await lookAt(15_000)).toEqual([])
    expect(await lookAt(20_000)).toEqual([])
  })

  it('is left alone if it answers just before it would be deleted', async () => {
    await create('slow', { pingTime: PINGED })
    await lookAt(0)
    const { transport } = client
    const send = transport.send.bind(transport)
    vi.spyOn(transport, 'send').mockImplementation(async (request) => {
      const answer = { spec: { renewTime: PINGED } }
      if (request.method === 'DELETE') await cluster.asAdmin('PATCH', `${CANDIDATES}/slow`, answer)
      return await send(request)
    })
    expect(await lookAt(15_000)).toEqual(['slow'])
  })

  it('is left alone while it answers, was never pinged, or stands for another lease', async () => {
    await create('answered', { pingTime: PINGED, renewTime: PINGED })
    await create('elsewhere', { pingTime: PINGED, leaseName: 'other' })
    await create('fresh', {})
    await lookAt(0)
    expect(await lookAt(60_000)).toEqual(['answered', 'elsewhere', 'fresh'])
  })
})
