import type { Clock } from '@tenure/core'
import { systemClock } from '@tenure/core/internal'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { VirtualClock } from '../../testing/src/virtual-clock/virtual-clock.ts'
import { CANDIDATES as CANDIDATE_RESOURCE } from '../src/coordinated/candidate-object.ts'
import { OtherCandidates } from '../src/coordinated/other-candidates.ts'
import { LeaseClient } from '../src/locks/lease/lease-client.ts'
import { EmbeddedCluster } from './support/embedded-cluster.ts'
import { ObjectServer, refusalOf } from './support/object-server.ts'

const CANDIDATES = '/apis/coordination.k8s.io/v1beta1/namespaces/ops/leasecandidates'
const VERSIONS = { binaryVersion: '1.36.0', emulationVersion: '1.36.0', strategy: 'OldestEmulationVersion' }
const RENEWED = '2026-01-01T00:00:00.000000Z'
const PINGED = '2026-01-01T00:00:01.000000Z'

let cluster: EmbeddedCluster
let client: LeaseClient
let now: number
let others: OtherCandidates

const startCluster = async () => {
  cluster = await EmbeddedCluster.start('ops', { runtimeConfig: { 'coordination.k8s.io/v1beta1': true } })
  client = new LeaseClient({ kubeConfig: cluster.kubeConfig() })
  now = 0
  const clock: Clock = { ...systemClock, now: () => now }
  others = new OtherCandidates({ client, namespace: 'ops', leaseName: 'job', clock })
}

const stopCluster = async () => {
  await client.close()
  await cluster.stop()
}

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
  beforeEach(startCluster)
  afterEach(stopCluster)

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

describe('the candidates of a lease', () => {
  const SILENT = { leaseName: 'job', ...VERSIONS, renewTime: RENEWED, pingTime: PINGED }
  const reference = (name: string) => ({ ...CANDIDATE_RESOURCE, namespace: 'ops', name })
  const { signal } = new AbortController()
  let virtual: VirtualClock
  let server: ObjectServer
  let listed: OtherCandidates

  beforeEach(() => {
    virtual = new VirtualClock()
    server = new ObjectServer(virtual)
    listed = new OtherCandidates({ client: server.client, namespace: 'ops', leaseName: 'job', clock: virtual })
  })

  it('are known by their versions once they were listed', async () => {
    server.put(reference('a'), { spec: SILENT })
    server.put(reference('b'), { spec: { ...SILENT, leaseName: 'other' } })
    expect(listed.versionsOf('a')).toBeUndefined()
    expect((await listed.list(signal)).map(({ name }) => name)).toEqual(['a'])
    expect(listed.versionsOf('a')).toMatchObject({ binaryVersion: '1.36.0', emulationVersion: '1.36.0' })
    expect(listed.versionsOf('b')).toBeUndefined()
    expect(server.requests).toEqual([
      {
        method: 'GET',
        path: CANDIDATES,
        query: {},
        target: { verb: 'list', group: 'coordination.k8s.io', resource: 'leasecandidates', namespace: 'ops', name: '' },
        signal,
      },
    ])
  })

  it('are deleted as they were seen', async () => {
    server.put(reference('a'), { spec: SILENT })
    await listed.look(signal)
    await virtual.advance(15_000)
    server.taken()
    await listed.look(signal)
    expect(server.requests.at(-1)).toMatchObject({
      method: 'DELETE',
      path: `${CANDIDATES}/a`,
      body: { preconditions: { uid: 'uid-1', resourceVersion: '1' } },
    })
    expect(server.get(reference('a'))).toBeUndefined()
  })

  it('have 15 s for every ping, and so has a new one of the same name', async () => {
    server.put(reference('a'), { spec: SILENT })
    await listed.look(signal)
    await virtual.advance(10_000)
    server.put(reference('a'), { spec: { ...SILENT, pingTime: '2027' } })
    await listed.look(signal)
    await virtual.advance(10_000)
    server.remove(reference('a'))
    server.put(reference('a'), { spec: { ...SILENT, pingTime: '2027' } })
    await listed.look(signal)
    await virtual.advance(14_999)
    await listed.look(signal)
    expect(server.get(reference('a'))).toBeDefined()
    await virtual.advance(1)
    await listed.look(signal)
    expect(server.get(reference('a'))).toBeUndefined()
  })

  it.each(['Conflict', 'NotFound'] as const)('are left to others after %s', async (reason) => {
    server.put(reference('a'), { spec: SILENT })
    server.put(reference('b'), { spec: SILENT })
    await listed.look(signal)
    await virtual.advance(15_000)
    server.onRequest = ({ target, method }) => {
      if (method === 'DELETE' && target.name === 'a') throw refusalOf(target, reason)
    }
    await listed.look(signal)
    expect(server.get(reference('b'))).toBeUndefined()
  })

  it('cannot be deleted where the server refuses it, or does not answer', async () => {
    server.put(reference('a'), { spec: SILENT })
    await listed.look(signal)
    await virtual.advance(15_000)
    const failing = (failure: Error) => {
      server.onRequest = ({ method }) => {
        if (method === 'DELETE') throw failure
      }
      return expect(listed.look(signal)).rejects.toBe(failure)
    }
    const target = { verb: 'delete', group: '', resource: 'x', namespace: '', name: '' }
    await failing(refusalOf(target, 'Forbidden'))
    await failing(Object.assign(new Error('x'), { failure: 'not-found' }))
  })
})
