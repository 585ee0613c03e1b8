import { HealthProbe } from '@tenure/core'
import type { HolderObserver, LeaseHolder } from '@tenure/core/internal'
import { VirtualClock } from '../../testing/src/virtual-clock/virtual-clock.ts'
import { beforeEach, expect, test } from 'vitest'
import { resolveEndpointsOptions } from '../src/endpoints/endpoints-options.ts'
import { MemberDeaths } from '../src/membership/member-deaths.ts'
import type { MemberLease } from '../src/membership/member-lease.ts'
import { ReplicaEndpoints } from '../src/endpoints/replica-endpoints.ts'
import { after } from './support/replicas.ts'
import { VirtualApi, type Wire } from './support/virtual-api.ts'

let clock: VirtualClock
let api: VirtualApi
/** Those who watch for the death of a process, by its reference. */
const watchers = new Map<string, Set<HolderObserver>>()

beforeEach(() => {
  clock = new VirtualClock()
  api = new VirtualApi(clock)
  watchers.clear()
  api.put('services', { metadata: { name: 'shop' }, spec: {} })
})

/** A replica whose death others can prove. */
async function replica(number: number, wire: Wire = { isCut: false, isPaused: false }) {
  const identity = `shop-${number}`
  const options = {
    service: 'shop',
    namespace: 'ops',
    address: `10.0.0.${number}`,
    ports: [{ port: 80 }],
    proveDeath: true,
  }
  const connection = api.connect(identity, wire)
  const proof = {
    processRef: `process of ${identity}`,
    watchHolder: ({ processRef }: LeaseHolder, observer: HolderObserver) => {
      const observers = watchers.get(processRef) ?? new Set()
      watchers.set(processRef, observers.add(observer))
      return { close: async () => void observers.delete(observer) }
    },
  }
  const links = { connection, proof, close: () => connection.close() }
  const endpoints = new ReplicaEndpoints(
    resolveEndpointsOptions({ ...options, clock, random: () => 0.5 }, {}),
    () => links,
  )
  await after(clock, endpoints.start({ identity, candidacies: [], readyz: new HealthProbe() }))
  return { endpoints, wire, stop: () => after(clock, endpoints.stop()) }
}

test('a member whose death is proved is out of the slice within a second', async () => {
  const [one, two, three] = [await replica(1), await replica(2), await replica(3)]
  expect(two.endpoints.addresses).toEqual(['10.0.0.1', '10.0.0.2', '10.0.0.3'])
  one.wire.isCut = true
  for (const observer of watchers.get('process of shop-1') ?? []) observer.dead()
  await clock.advance(1000)
  expect(two.endpoints.addresses).toEqual(['10.0.0.2', '10.0.0.3'])
  expect(two.endpoints.membership?.members.map(({ identity }) => identity)).toEqual(['shop-2', 'shop-3'])
  await two.stop()
  await three.stop()
})

test('the process of a member that left is no longer watched, and nobody watches itself', async () => {
  const [one, two] = [await replica(1), await replica(2)]
  expect(watchers.get('process of shop-1')?.size).toBe(1)
  expect(watchers.get('process of shop-2')?.size).toBe(1)
  await one.stop()
  expect(watchers.get('process of shop-1')?.size).toBe(0)
  await two.stop()
  expect(watchers.get('process of shop-2')?.size).toBe(0)
})

test('a proof counts even during an outage', async () => {
  const [one, two] = [await replica(1), await replica(2)]
  one.wire.isCut = true
  api.breakStreams()
  for (const observer of watchers.get('process of shop-1') ?? []) observer.dead()
  await clock.advance(5000)
  expect(two.endpoints.addresses).toEqual(['10.0.0.2'])
  await two.stop()
})

test('each process is watched once, for as long as the Lease of its member names it', async () => {
  const events: unknown[] = []
  const deaths = new MemberDeaths(
    {
      processRef: undefined,
      watchHolder: (holder) => {
        events.push(holder)
        return { close: async () => void events.push(`closed ${holder.processRef}`) }
      },
    },
    () => {},
  )
  const leaseOf = (process: string | undefined): MemberLease => ({
    name: 'shop-b',
    uid: 'u-1',
    resourceVersion: 7n,
    identity: 'b',
    durationMs: 15_000,
    labels: {},
    facts: { process, notes: {} },
  })
  deaths.follow([leaseOf(undefined)])
  deaths.follow([leaseOf('one')])
  deaths.follow([leaseOf('one')])
  expect(events.splice(0)).toEqual([{ identity: 'b', acquireTime: '', processRef: 'one' }])
  deaths.follow([leaseOf('two')])
  expect(events.splice(0)).toEqual(['closed one', { identity: 'b', acquireTime: '', processRef: 'two' }])
  await deaths.close()
  expect(events).toEqual(['closed two'])
})
