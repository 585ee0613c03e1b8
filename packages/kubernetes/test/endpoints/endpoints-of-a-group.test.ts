import { beforeEach, describe, expect, test, vi } from 'vitest'
import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import { formatNote, noteKey } from '../../src/endpoints/endpoint-note.ts'
import { type EndpointsOptions, resolveEndpointsOptions } from '../../src/endpoints/endpoints-options.ts'
import { ReplicaEndpoints } from '../../src/endpoints/replica-endpoints.ts'
import { endpointBody, type SliceEndpoint } from '../../src/endpoints/slice-endpoint.ts'
import type { LinkOptions, Links } from '../../src/membership/links.ts'
import type { Member, MemberChange } from '../../src/membership/member.ts'
import type { Membership } from '../../src/membership/membership.ts'
import { after } from '../support/replicas.ts'
import { VirtualApi } from '../support/virtual-api.ts'

let clock: VirtualClock
let api: VirtualApi

beforeEach(() => {
  clock = new VirtualClock()
  api = new VirtualApi(clock)
  api.put('services', { metadata: { name: 'shop' }, spec: {} })
})

const entry = (number: number): SliceEndpoint => ({
  address: `10.0.0.${number}`,
  ready: true,
  serving: true,
  terminating: false,
  nodeName: undefined,
  zone: undefined,
})

const member = (number: number, notes: Member['notes'] = { [noteKey('shop')]: formatNote(entry(number)) }): Member => ({
  identity: `shop-${number}`,
  lease: `shop-${number}`,
  state: 'living',
  address: undefined,
  version: undefined,
  zone: undefined,
  labels: {},
  renewedAt: 1e9,
  notes,
})

function putSlice(numbers: readonly number[]): void {
  const metadata = { ...api.get('endpointslices', 'shop')?.metadata, name: 'shop' }
  const ports = [{ name: 'http', port: 8080, protocol: 'TCP' }]
  const endpoints = numbers.map((number) => endpointBody(entry(number)))
  api.put('endpointslices', { metadata, addressType: 'IPv4', endpoints, ports })
}

const numbers = () => {
  const slice = api.get('endpointslices', 'shop') as unknown as { endpoints: { addresses: string[] }[] } | undefined
  return slice?.endpoints.map(({ addresses: [address] }) => Number(address?.split('.')[3]))
}

/** A group whose members and changes the test says. This replica is number 1. */
function groupOf(members: readonly Member[]) {
  const listeners = new Set<(change: MemberChange) => void>()
  const group = {
    members,
    self: member(1),
    isCurrent: true,
    on: (listener: (change: MemberChange) => void) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    note: async () => {},
    refresh: async () => {},
    bury: vi.fn<(identity: string) => void>(),
    explain: () => 'The group is complete.',
    metrics: { getMetricsAsJSON: async () => [], getMetricsAsArray: () => [] },
  }
  /** The group has other members now, because of this change. */
  const change = (kind: MemberChange['kind'], changed: Member, next: readonly Member[] = group.members) => {
    group.members = next
    for (const listener of listeners) listener({ kind, member: changed })
  }
  return { group, change, listeners }
}

const opened: LinkOptions[] = []
beforeEach(() => void opened.splice(0))

function endpointsOf(options: Partial<EndpointsOptions>): ReplicaEndpoints {
  const given = { service: 'shop', namespace: 'ops', ports: [{ name: 'http', port: 8080 }], address: '10.0.0.1' }
  const resolved = resolveEndpointsOptions({ ...given, clock, random: () => 0.5, ...options }, {})
  return new ReplicaEndpoints(resolved, (links): Links => {
    opened.push(links)
    const connection = api.connect('shop-1')
    return { connection, proof: undefined, close: () => connection.close() }
  })
}

/** Endpoints of this replica, which has entered the slice beside the members of the group. */
async function entered(members: readonly Member[]) {
  const { group, change, listeners } = groupOf(members)
  const endpoints = endpointsOf({ membership: group as unknown as Membership, isReady: () => true })
  await after(clock, endpoints.start({ identity: 'shop-1', candidacies: [], readyz: { add: () => () => {} } } as never))
  const all = [1, ...members.map(({ identity }) => Number(identity.split('-')[1]))]
  putSlice([...new Set(all)].sort((a, b) => a - b))
  await clock.advance(3000)
  return { endpoints, group, change, listeners, stop: () => after(clock, endpoints.stop()) }
}

describe('the entries of members that are gone', () => {
  test.each(['gone', 'left'] as const)(
    'are removed long before those of strangers, also of several that are %s one after the other',
    async (kind) => {
      const { change, stop } = await entered([member(2), member(3), member(4)])
      change(kind, member(2), [member(3), member(4)])
      await clock.advance(10)
      change(kind, member(3), [member(4)])
      expect(numbers()).toEqual([1, 2, 3, 4])
      await clock.advance(600)
      expect(numbers()).toEqual([1, 4])
      await stop()
    },
  )

  test('are not removed at once if somebody else has the address by then', async () => {
    const { change, stop } = await entered([member(2), member(3)])
    change('gone', member(2), [member(3)])
    await clock.advance(2000)
    expect(numbers()).toEqual([1, 3])
    change('changed', member(3))
    putSlice([1, 2, 3])
    await clock.advance(900)
    expect(numbers()).toEqual([1, 2, 3])
    await clock.advance(1100)
    expect(numbers()).toEqual([1, 3])
    await stop()
  })

  test.each(['joined', 'changed', 'suspect'] as const)('stay if the member is %s again', async (kind) => {
    const { group, change, stop } = await entered([member(2)])
    group.isCurrent = false
    change('gone', member(2), [])
    change(kind, member(2))
    await clock.advance(5000)
    expect(numbers()).toEqual([1, 2])
    await stop()
  })

  test('stay if nobody knows which entry a member had', async () => {
    const { group, change, stop } = await entered([member(2)])
    group.isCurrent = false
    change('gone', member(2, {}), [])
    await clock.advance(5000)
    expect(numbers()).toEqual([1, 2])
    await stop()
  })
})

test('an earlier process with the same address is buried, and neither this one nor another', async () => {
  const { group, stop } = await entered([member(1), { ...member(1), identity: 'shop-0' }, member(2), member(3, {})])
  expect(group.bury.mock.calls).toEqual([['shop-0']])
  await stop()
})

test('an address that this replica had in an earlier run is not added', async () => {
  const { stop } = await entered([member(1, { [noteKey('shop')]: formatNote(entry(9)) }), member(2)])
  await clock.advance(60_000)
  expect(numbers()).toEqual([1, 2])
  await stop()
})

test('the explanation ends with that of the group, and nobody listens to the group after the stop', async () => {
  const { endpoints, listeners, stop } = await entered([])
  expect(endpoints.explain()).toMatch(/ The group is complete\.$/)
  expect(listeners.size).toBe(1)
  await stop()
  expect(listeners.size).toBe(0)
})

test('connections prove deaths only for a group of their own', () => {
  const { group } = groupOf([])
  endpointsOf({ proveDeath: true })
  endpointsOf({ membership: group as unknown as Membership })
  endpointsOf({ mode: 'leader' })
  endpointsOf({ mode: 'none', address: undefined, ports: undefined } as never)
  const plain = { client: expect.anything(), proveDeath: false, namespace: 'ops', podName: undefined }
  expect(opened).toEqual([
    expect.objectContaining({ proveDeath: true, namespace: 'ops', group: 'shop' }),
    { ...plain, container: undefined },
    { ...plain, container: undefined },
  ])
})
