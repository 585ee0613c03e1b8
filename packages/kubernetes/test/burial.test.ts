import { systemClock } from '@tenure/core/internal'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { ApiRequest } from '../src/client/api-request.ts'
import { bury } from '../src/coordinated/burial.ts'
import { LeaseClient } from '../src/locks/lease/lease-client.ts'
import { LEASES } from '../src/locks/lease/lease-object.ts'
import { VirtualClock } from '../../testing/src/virtual-clock/virtual-clock.ts'
import { CANDIDATES as CANDIDATE_RESOURCE } from '../src/coordinated/candidate-object.ts'
import { freeStuckLease, isGone } from '../src/coordinated/stuck-lease.ts'
import { EmbeddedCluster } from './support/embedded-cluster.ts'
import { record } from './support/lease-record.ts'
import { ObjectServer, refusalOf } from './support/object-server.ts'

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

const startCluster = async () => {
  cluster = await EmbeddedCluster.start('ops', { runtimeConfig: { 'coordination.k8s.io/v1beta1': true } })
  client = new LeaseClient({ kubeConfig: cluster.kubeConfig() })
  const { identity: holderIdentity, acquireTime } = DEAD
  const spec = { holderIdentity, acquireTime, renewTime: acquireTime, leaseDurationSeconds: 3600 }
  await cluster.asAdmin('POST', LEASE, { metadata: { name: 'job' }, spec })
  await stand()
}

const stopCluster = async () => {
  await client.close()
  await cluster.stop()
}

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
  beforeEach(startCluster)
  afterEach(stopCluster)

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

describe('the burial of a holder', () => {
  const REFERENCE = { ...LEASES, namespace: 'ops', name: 'job' }
  const CANDIDATE = { ...CANDIDATE_RESOURCE, namespace: 'ops', name: 'dead' }
  const { signal } = new AbortController()
  const { identity: holderIdentity, acquireTime } = DEAD
  const HELD = { holderIdentity, acquireTime, renewTime: acquireTime, leaseDurationSeconds: 3600, strategy: 'x' }
  const GET_CANDIDATE = 'GET leasecandidates/dead'
  const DELETE_CANDIDATE = 'DELETE leasecandidates/dead'
  const [GET_LEASE, PUT_LEASE] = ['GET leases/job', 'PUT leases/job']
  let server: ObjectServer
  const clock = new VirtualClock()

  beforeEach(() => {
    server = new ObjectServer(clock)
    server.put(CANDIDATE, { spec: SPEC })
    server.put(REFERENCE, { spec: { ...HELD, preferredHolder: 'other' } })
  })

  const buryDead = () => bury(DEAD, { client: server.client, lease: REFERENCE, clock, signal })
  /** Does something before the first request with this method for a resource takes effect. */
  const before = (method: string, resource: string, act: (target: ApiRequest['target']) => void) => {
    let isDone = false
    server.onRequest = (request) => {
      if (isDone || request.method !== method || request.target.resource !== resource) return
      isDone = true
      act(request.target)
    }
  }
  const refuse = (reason: Parameters<typeof refusalOf>[1]) => (target: ApiRequest['target']) => {
    throw refusalOf(target, reason)
  }

  it('deletes the candidate as it was read, and releases the lease as its holder would', async () => {
    await buryDead()
    expect(server.requests.map(({ body }) => body)).toEqual([
      undefined,
      { preconditions: { uid: 'uid-1', resourceVersion: '1' } },
      undefined,
      {
        metadata: expect.objectContaining({ name: 'job', resourceVersion: '2' }) as object,
        spec: {
          strategy: 'x',
          holderIdentity: '',
          leaseDurationSeconds: 1,
          acquireTime: '2026-01-01T00:00:00.000000Z',
          renewTime: '2026-01-01T00:00:00.000000Z',
        },
      },
    ])
    expect(server.requests.map((request) => request.signal)).toEqual(Array(4).fill(signal))
    expect(server.taken()).toEqual([GET_CANDIDATE, DELETE_CANDIDATE, GET_LEASE, PUT_LEASE])
  })

  it.each([
    ['has no candidate any more', () => server.remove(CANDIDATE), [GET_CANDIDATE, GET_LEASE, PUT_LEASE]],
    [
      'loses its candidate meanwhile',
      () => before('DELETE', 'leasecandidates', () => server.remove(CANDIDATE)),
      [GET_CANDIDATE, DELETE_CANDIDATE, GET_LEASE, PUT_LEASE],
    ],
    [
      'has a candidate that is pinged meanwhile',
      () => before('DELETE', 'leasecandidates', () => server.put(CANDIDATE, { spec: { ...SPEC, pingTime: '2027' } })),
      [GET_CANDIDATE, DELETE_CANDIDATE, GET_CANDIDATE, DELETE_CANDIDATE, GET_LEASE, PUT_LEASE],
    ],
    [
      'has a candidate that renews meanwhile',
      () => before('DELETE', 'leasecandidates', () => server.put(CANDIDATE, { spec: { ...SPEC, renewTime: '2027' } })),
      [GET_CANDIDATE, DELETE_CANDIDATE, GET_CANDIDATE, GET_LEASE, PUT_LEASE],
    ],
    [
      'has a new candidate meanwhile',
      () =>
        before('DELETE', 'leasecandidates', () => {
          server.remove(CANDIDATE)
          server.put(CANDIDATE, { spec: SPEC })
        }),
      [GET_CANDIDATE, DELETE_CANDIDATE, GET_CANDIDATE, GET_LEASE, PUT_LEASE],
    ],
    [
      'has a lease that is written meanwhile',
      () => before('PUT', 'leases', () => server.put(REFERENCE, { spec: HELD, note: 'x' })),
      [GET_CANDIDATE, DELETE_CANDIDATE, GET_LEASE, PUT_LEASE, GET_LEASE, PUT_LEASE],
    ],
    [
      'has a lease that another one takes meanwhile',
      () => before('PUT', 'leases', () => server.put(REFERENCE, { spec: { ...HELD, holderIdentity: 'other' } })),
      [GET_CANDIDATE, DELETE_CANDIDATE, GET_LEASE, PUT_LEASE, GET_LEASE],
    ],
    [
      'has a lease that a new process of its name has acquired',
      () => server.put(REFERENCE, { spec: { ...HELD, acquireTime: '2027' } }),
      [GET_CANDIDATE, DELETE_CANDIDATE, GET_LEASE],
    ],
    [
      'has a lease that cannot be read',
      () => (server.onAnswer = ({ target }, answer) => (target.resource === 'leases' ? 'text' : answer)),
      [GET_CANDIDATE, DELETE_CANDIDATE, GET_LEASE],
    ],
  ])('of a holder that %s', async (_, arrange, requests) => {
    arrange()
    await buryDead()
    expect(server.taken()).toEqual(requests)
  })

  it.each([
    ['GET', 'leasecandidates', 'Forbidden'],
    ['DELETE', 'leasecandidates', 'InternalError'],
    ['GET', 'leases', 'NotFound'],
    ['PUT', 'leases', 'NotFound'],
  ] as const)('fails where %s of %s does: %s', async (method, resource, reason) => {
    before(method, resource, refuse(reason))
    await expect(buryDead()).rejects.toMatchObject({ reason })
    expect(server.requests.at(-1)).toMatchObject({ method, target: { resource } })
  })

  it.each(['leasecandidates', 'leases'])('fails with a failure that is no answer for %s', async (resource) => {
    const failure = Object.assign(new Error('x'), { failure: 'conflict' })
    before(resource === 'leases' ? 'PUT' : 'DELETE', resource, () => {
      throw failure
    })
    await expect(buryDead()).rejects.toBe(failure)
  })
})

describe('a lease whose named replica does not come', () => {
  const target = { verb: 'update', group: '', resource: 'x', namespace: '', name: '' }

  it('is freed with its times, and prefers nobody', async () => {
    const written: unknown[] = []
    await freeStuckLease({ ...record, preferredHolder: 'b' }, async (freed) => written.push(freed))
    expect(written).toEqual([{ ...record, holderIdentity: '', leaseDurationSeconds: 1 }])
  })

  it.each(['Conflict', 'NotFound'] as const)('needs no freeing after %s', async (reason) => {
    await expect(freeStuckLease(record, () => Promise.reject(refusalOf(target, reason)))).resolves.toBeUndefined()
  })

  it.each([refusalOf(target, 'Forbidden'), Object.assign(new Error('x'), { failure: 'conflict' })])(
    'stays after %s',
    async (failure) => {
      await expect(freeStuckLease(record, () => Promise.reject(failure))).rejects.toBe(failure)
    },
  )

  it('has left only if the server does not find its candidate', async () => {
    expect(await isGone(Promise.resolve({}))).toBe(false)
    expect(await isGone(Promise.reject(refusalOf(target, 'NotFound')))).toBe(true)
    expect(await isGone(Promise.reject(refusalOf(target, 'Forbidden')))).toBe(false)
    expect(await isGone(Promise.reject(Object.assign(new Error('x'), { failure: 'not-found' })))).toBe(false)
  })
})
