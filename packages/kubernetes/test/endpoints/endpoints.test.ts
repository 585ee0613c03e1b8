import { type Candidacy, type Controller, type ControllerFactory, HealthRegistry } from '@tenure/core'
import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { endpoints } from '../../src/endpoints/create-endpoints.ts'
import type { EndpointsOptions } from '../../src/endpoints/endpoints-options.ts'
import { MANAGED_BY } from '../../src/endpoints/slice-object.ts'
import { after, endpointsOf, memberOf, STOPPED } from '../support/replicas.ts'
import { VirtualApi, type Wire } from '../support/virtual-api.ts'

let clock: VirtualClock
let api: VirtualApi
let serviceUid: string

const SERVICE = { metadata: { name: 'shop' }, spec: { ports: [{ name: 'http', port: 80 }], ipFamilies: ['IPv4'] } }

beforeEach(() => {
  clock = new VirtualClock()
  api = new VirtualApi(clock)
  serviceUid = api.put('services', SERVICE).metadata.uid ?? ''
})

interface Slice {
  readonly addressType: string
  readonly endpoints: readonly { readonly addresses: readonly string[]; readonly conditions: object }[]
  readonly ports: readonly object[]
}

const slice = () => api.get('endpointslices', 'shop') as unknown as (Slice & ReturnType<VirtualApi['get']>) | undefined
const addresses = () => slice()?.endpoints.flatMap((endpoint) => endpoint.addresses)
const conditions = (address: string) => slice()?.endpoints.find((one) => one.addresses[0] === address)?.conditions

/** A slice as somebody left it. */
function putSlice(
  listed: readonly string[],
  labels: Readonly<Record<string, string>> = {
    'endpointslice.kubernetes.io/managed-by': MANAGED_BY,
    'kubernetes.io/service-name': 'shop',
  },
): void {
  const stored = slice()
  const ports = stored?.ports ?? [{ name: 'http', port: 8080, protocol: 'TCP' }]
  const metadata = { ...stored?.metadata, name: 'shop', labels }
  const entries = listed.map((address) => ({
    addresses: [address],
    conditions: { ready: true, serving: true, terminating: false },
  }))
  api.put('endpointslices', { metadata, addressType: 'IPv4', endpoints: entries, ports })
}

async function replica(number: number, options: Partial<EndpointsOptions> = {}, identity = `shop-${number}`) {
  const wire: Wire = { isCut: false, isPaused: false }
  const one = endpointsOf({ api, clock, identity, wire }, { address: `10.0.0.${number}`, ...options })
  await after(clock, one.endpoints.start(one.host))
  return { ...one, wire, stop: () => after(clock, one.endpoints.stop()) }
}

describe('a slice', () => {
  test('is that of the Service, with label, owner, ports and sorted addresses', async () => {
    const all = [await replica(2), await replica(1)]
    expect(slice()).toMatchObject({
      metadata: {
        labels: {
          'kubernetes.io/service-name': 'shop',
          'endpointslice.kubernetes.io/managed-by': 'endpoints.tenure.dev',
        },
        ownerReferences: [{ apiVersion: 'v1', kind: 'Service', name: 'shop', uid: serviceUid }],
      },
      addressType: 'IPv4',
      ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    })
    expect(addresses()).toEqual(['10.0.0.1', '10.0.0.2'])
    expect(all[0]?.endpoints.addresses).toEqual(['10.0.0.1', '10.0.0.2'])
    for (const one of all) await one.stop()
    expect(addresses()).toEqual([])
  })

  test('is not written in steady state', async () => {
    const all = [await replica(1), await replica(2), await replica(3)]
    await clock.advance(5000)
    api.writes.length = 0
    await clock.advance(120_000)
    expect(api.writes.filter(({ what }) => what.includes('endpointslices'))).toEqual([])
    for (const one of all) await one.stop()
  })

  test('is repaired when somebody deletes it, adds a stranger or edits it', async () => {
    const all = [await replica(1), await replica(2)]
    api.remove('endpointslices', 'shop')
    await clock.advance(2000)
    expect(addresses()).toEqual(['10.0.0.1', '10.0.0.2'])
    putSlice(['10.0.0.1', '10.0.0.2', '10.0.0.9'])
    await clock.advance(2000)
    expect(addresses()).toEqual(['10.0.0.1', '10.0.0.2'])
    putSlice([], { 'endpointslice.kubernetes.io/managed-by': MANAGED_BY, 'by.hand': 'x' })
    await clock.advance(2000)
    expect(addresses()).toEqual(['10.0.0.1', '10.0.0.2'])
    expect(slice()?.metadata.labels).toMatchObject({ 'kubernetes.io/service-name': 'shop', 'by.hand': 'x' })
    for (const one of all) await one.stop()
  })
})

describe('a replica', () => {
  test('is in within 100 ms of being ready, and not before', async () => {
    let isReady = false
    const one = await replica(1, { isReady: () => isReady })
    await clock.advance(3000)
    expect(addresses()).toBeUndefined()
    expect(one.endpoints.explain()).toContain('because it is not ready yet')
    isReady = true
    await clock.advance(110)
    expect(addresses()).toEqual(['10.0.0.1'])
    expect(one.endpoints.isListed).toBe(true)
    await one.stop()
  })

  test('waits for the checks of the manager by default', async () => {
    const checks = new HealthRegistry()
    const passes = checks.register('warm', () => {
      throw new Error('cold')
    })
    const one = endpointsOf({ api, clock, identity: 'shop-1' }, { address: '10.0.0.1' })
    one.host.readyz.add(checks)
    await after(clock, one.endpoints.start(one.host))
    await clock.advance(1000)
    expect(addresses()).toBeUndefined()
    passes()
    await clock.advance(200)
    expect(addresses()).toEqual(['10.0.0.1'])
    await after(clock, one.endpoints.stop())
  })

  test('that is not ready three times in a row stays with `ready: false`', async () => {
    let isReady = true
    const one = await replica(1, { isReady: () => isReady })
    isReady = false
    await clock.advance(9000)
    expect(conditions('10.0.0.1')).toEqual({ ready: true, serving: true, terminating: false })
    await clock.advance(7000)
    expect(conditions('10.0.0.1')).toEqual({ ready: false, serving: false, terminating: false })
    isReady = true
    await clock.advance(1200)
    expect(conditions('10.0.0.1')).toEqual({ ready: true, serving: true, terminating: false })
    await one.stop()
  })

  test('is out within 50 ms of its stop', async () => {
    const [one, two] = [await replica(1), await replica(2)]
    one.endpoints.onEvent(STOPPED)
    await after(clock, one.endpoints.stop(), 50)
    expect(addresses()).toEqual(['10.0.0.2'])
    await clock.advance(30_000)
    expect(addresses()).toEqual(['10.0.0.2'])
    await two.stop()
  })

  test('is terminating but serving while the manager drains, and the others leave that alone', async () => {
    const [one, two] = [await replica(1), await replica(2)]
    one.endpoints.onEvent({ lease: 'shop', kind: 'term-ending', epoch: 1n, reason: 'shutdown' })
    await clock.advance(50)
    expect(conditions('10.0.0.1')).toEqual({ ready: false, serving: true, terminating: true })
    await clock.advance(10_000)
    expect(conditions('10.0.0.1')).toEqual({ ready: false, serving: true, terminating: true })
    await one.stop()
    expect(addresses()).toEqual(['10.0.0.2'])
    await two.stop()
  })

  test('that steps down does not drain', async () => {
    const one = await replica(1)
    one.endpoints.onEvent({ lease: 'shop', kind: 'term-ending', epoch: 1n, reason: 'step-down' })
    await clock.advance(1000)
    expect(conditions('10.0.0.1')).toEqual({ ready: true, serving: true, terminating: false })
    await one.stop()
  })

  test('that is killed is out within its lease duration and a second', async () => {
    const [one, two, three] = [await replica(1), await replica(2), await replica(3)]
    one.wire.isCut = true
    await clock.advance(16_000)
    expect(addresses()).toEqual(['10.0.0.2', '10.0.0.3'])
    await two.stop()
    await three.stop()
  })

  test('removes its own stale entry first, and its old Lease, and joins when it is ready', async () => {
    const [old, other] = [await replica(1), await replica(2)]
    old.wire.isCut = true
    await clock.advance(1000)
    let isReady = false
    const back = await replica(1, { isReady: () => isReady }, 'shop-1-again')
    expect(addresses()).toEqual(['10.0.0.2'])
    await clock.advance(5000)
    expect(addresses()).toEqual(['10.0.0.2'])
    isReady = true
    await clock.advance(150)
    expect(addresses()).toEqual(['10.0.0.1', '10.0.0.2'])
    await clock.advance(20_000)
    expect(addresses()).toEqual(['10.0.0.1', '10.0.0.2'])
    expect(api.store.list('leases')).toHaveLength(2)
    await back.stop()
    await other.stop()
  })

  test('that comes back alone after all were killed drops the dead', async () => {
    const [one, two] = [await replica(1), await replica(2)]
    one.wire.isCut = two.wire.isCut = true
    await clock.advance(2000)
    const back = await replica(1, {}, 'shop-1-again')
    expect(addresses()).toContain('10.0.0.1')
    await clock.advance(17_000)
    expect(addresses()).toEqual(['10.0.0.1'])
    await back.stop()
  })

  test('that was paused for longer than its lease is out, and back at once', async () => {
    const [one, two] = [await replica(1), await replica(2)]
    one.wire.isPaused = true
    await clock.advance(20_000)
    expect(addresses()).toEqual(['10.0.0.2'])
    one.wire.isPaused = false
    await clock.advance(6000)
    expect(addresses()).toEqual(['10.0.0.1', '10.0.0.2'])
    await one.stop()
    await two.stop()
  })
})

test('no living replica leaves the slice when the store fails for 20 s', async () => {
  const all = [await replica(1), await replica(2), await replica(3)]
  const dropped: (readonly string[])[] = []
  api.store.watch('endpointslices', () => void dropped.push(addresses() ?? []))
  api.isStalled = true
  await clock.advance(20_000)
  api.isStalled = false
  await clock.advance(60_000)
  expect(dropped).toEqual([])
  for (const one of all) await one.stop()
})

test('a lone replica removes a stranger that came during an outage, when the outage is over', async () => {
  const one = await replica(1)
  one.wire.isCut = true
  await clock.advance(8000)
  putSlice(['10.0.0.1', '10.0.0.9'])
  await clock.advance(4000)
  one.wire.isCut = false
  await clock.advance(15_000)
  expect(addresses()).toEqual(['10.0.0.1'])
  await one.stop()
})

describe('a replica that came back after the others had dropped it', () => {
  test('is not removed by one whose view of the group is late', async () => {
    const [one, two] = [await replica(1), await replica(2)]
    await clock.advance(5000)
    one.wire.isCut = true
    await clock.advance(25_000)
    expect(addresses()).toEqual(['10.0.0.2'])
    two.wire.silent = 'leases'
    one.wire.isCut = false
    while (addresses()?.length !== 2) await clock.advance(10)
    api.writes.length = 0
    await clock.advance(3000)
    expect(api.writes.filter(({ what }) => what.includes('endpointslices'))).toEqual([])
    two.wire.silent = undefined
    await one.stop()
    await two.stop()
  })

  test('renews its Lease before it enters', async () => {
    const [one, two] = [await replica(1), await replica(2)]
    await clock.advance(5000)
    one.wire.isPaused = true
    await clock.advance(25_000)
    api.writes.length = 0
    one.wire.isPaused = false
    while (addresses()?.length !== 2) await clock.advance(10)
    const own = api.writes.filter(({ by }) => by === 'shop-1').map(({ what }) => what.split(' ')[1])
    expect(own).toEqual(['leases.coordination.k8s.io', 'endpointslices.discovery.k8s.io'])
    await one.stop()
    await two.stop()
  })
})

describe('mode master-count', () => {
  test('refuses more living replicas than the count, and nothing flaps', async () => {
    const options = { mode: 'master-count', count: 2 } as const
    const all = [await replica(1, options), await replica(2, options), await replica(3, options)]
    await clock.advance(2000)
    api.writes.length = 0
    await clock.advance(60_000)
    expect(addresses()).toEqual(['10.0.0.1', '10.0.0.2'])
    expect(api.writes.filter(({ what }) => what.includes('endpointslices'))).toEqual([])
    expect(all[2]?.endpoints.explain()).toContain('`count` is 2, but 3 replicas are there')
    expect((await all[2]?.host.readyz.run())?.some(({ failure }) => failure?.message.includes('`count` is 2'))).toBe(
      true,
    )
    for (const one of all) await one.stop()
  })

  test('a new replica takes the place of a dead one, not of a living one', async () => {
    const options = { mode: 'master-count', count: 2 } as const
    const [one, two] = [await replica(1, options), await replica(2, options)]
    two.wire.isCut = true
    await clock.advance(20_000)
    expect(addresses()).toEqual(['10.0.0.1', '10.0.0.2'])
    const three = await replica(3, options)
    expect(addresses()).toEqual(['10.0.0.1', '10.0.0.3'])
    await one.stop()
    await three.stop()
  })
})

describe('mode none', () => {
  test('sends no request', async () => {
    api.forbids = () => true
    const one = await replica(1, { mode: 'none', address: undefined, ports: undefined } as never)
    expect(one.endpoints.explain()).toContain('mode `none`')
    expect(one.endpoints.membership).toBeUndefined()
    await one.stop()
  })
})

describe('mode leader', () => {
  /** A candidacy that begins and ends terms by hand. */
  async function candidate(number: number) {
    const factories: ControllerFactory[] = []
    const candidacy = { lease: 'shop', register: (factory: ControllerFactory) => void factories.push(factory) }
    const wire = { isCut: false, isPaused: false }
    const setup = { api, clock, identity: `shop-${number}`, wire }
    const one = endpointsOf(setup, { mode: 'leader', address: `10.0.0.${number}` })
    const host = { ...one.host, candidacies: [candidacy as unknown as Candidacy] }
    await after(clock, one.endpoints.start(host))
    const lead = () => {
      const [ending, aborting] = [new AbortController(), new AbortController()]
      const controller = factories[0]?.() as Controller
      const term = { lease: 'shop', controller: controller.name, signal: ending.signal, hardSignal: aborting.signal }
      const run = controller.run(term as unknown as Parameters<Controller['run']>[0])
      const other = one.endpoints.onTerm({ ...term, controller: 'janitor' } as never)
      return { run, endTerm: () => ending.abort(), abort: () => aborting.abort(), otherDone: other }
    }
    return { ...one, wire, lead, stop: () => after(clock, one.endpoints.stop()) }
  }

  test('only the leader is in, and it is out before its term is over', async () => {
    const [one, two] = [await candidate(1), await candidate(2)]
    expect(addresses()).toBeUndefined()
    const first = one.lead()
    await clock.advance(20)
    expect(addresses()).toEqual(['10.0.0.1'])
    first.endTerm()
    first.otherDone()
    await after(clock, first.run, 20)
    expect(addresses()).toEqual([])
    const second = two.lead()
    await clock.advance(20)
    expect(addresses()).toEqual(['10.0.0.2'])
    second.endTerm()
    second.otherDone()
    await after(clock, second.run, 20)
    await one.stop()
    await two.stop()
  })

  test('a leader that drains for long is terminating until its last task has ended', async () => {
    const one = await candidate(1)
    const term = one.lead()
    await clock.advance(20)
    term.endTerm()
    await clock.advance(100)
    expect(conditions('10.0.0.1')).toEqual({ ready: false, serving: true, terminating: true })
    term.otherDone()
    await after(clock, term.run, 20)
    expect(addresses()).toEqual([])
    await one.stop()
  })

  test('the next leader replaces a leader that died', async () => {
    const [one, two] = [await candidate(1), await candidate(2)]
    void one.lead()
    await clock.advance(20)
    one.wire.isCut = true
    const second = two.lead()
    await clock.advance(20)
    expect(addresses()).toEqual(['10.0.0.2'])
    second.abort()
    second.endTerm()
    await after(clock, second.run, 20)
    await clock.advance(20)
    expect(addresses()).toEqual([])
    await two.stop()
  })
})

describe('a group that the program has', () => {
  test('carries the endpoints in its Leases, and stays when they stop', async () => {
    const group = memberOf({ api, clock, identity: 'shop-1' }, { group: 'fleet' })
    await after(clock, group.member.start(group.host))
    const one = endpointsOf({ api, clock, identity: 'shop-1' }, { address: '10.0.0.1', membership: group.member })
    await after(clock, one.endpoints.start(one.host))
    expect(addresses()).toEqual(['10.0.0.1'])
    expect(Object.keys(group.member.self?.notes ?? {})).toEqual(['endpoint shop'])
    await after(clock, one.endpoints.stop())
    expect(addresses()).toEqual([])
    expect(group.member.self?.notes).toEqual({})
    expect(api.store.list('leases')).toHaveLength(1)
    await after(clock, group.member.stop())
  })
})

describe('the start rejects', () => {
  const start = (options: Partial<EndpointsOptions> = {}) => {
    const one = endpointsOf({ api, clock, identity: 'shop-1' }, { address: '10.0.0.1', ...options })
    return after(clock, one.endpoints.start(one.host), 5000)
  }

  test('without the Service', async () => {
    await expect(start({ service: 'shoe' })).rejects.toThrow(
      'Service ops/shoe: it does not exist. Create it, without a selector',
    )
  })

  test('if the Service has a selector', async () => {
    api.put('services', { metadata: { name: 'web' }, spec: { selector: { app: 'web' } } })
    await expect(start({ service: 'web' })).rejects.toThrow('it has a selector')
  })

  test('if the Service has no such port, or another family', async () => {
    await expect(start({ ports: [{ name: 'https', port: 1 }] })).rejects.toThrow(
      'it has no port "https" TCP, only "http" TCP',
    )
    await expect(start({ address: 'fd00::1' })).rejects.toThrow('its ipFamilies are IPv4')
  })

  test('if the slice belongs to somebody else, and does not write it', async () => {
    putSlice(['10.9.9.9'], {
      'endpointslice.kubernetes.io/managed-by': 'somebody',
      'kubernetes.io/service-name': 'shop',
    })
    await expect(start()).rejects.toThrow(
      'endpointslice.kubernetes.io/managed-by is "somebody", not "endpoints.tenure.dev"',
    )
    expect(addresses()).toEqual(['10.9.9.9'])
    expect(api.store.list('leases')).toEqual([])
  })

  test.each([
    ['get', 'services'],
    ['list', 'endpointslices'],
    ['watch', 'endpointslices'],
    ['create', 'leases'],
  ])('without the right to %s %s, and names both with the namespace', async (verb, resource) => {
    api.forbids = (target) => target.verb === verb && target.resource === resource
    await expect(start()).rejects.toThrow(
      new RegExp(`${verb} ${resource}.* ops.*the verb "${verb}" on the resource "${resource}"`),
    )
    expect(clock.pendingTimers).toBe(0)
  })
})

test('a replica with other ports stays out while others are in, and says why', async () => {
  const one = await replica(1)
  const two = await replica(2, { ports: [{ name: 'http', port: 9090 }] })
  await clock.advance(5000)
  expect(addresses()).toEqual(['10.0.0.1'])
  expect(two.endpoints.explain()).toContain('has other ports than `ports`')
  await one.stop()
  await clock.advance(5000)
  expect(addresses()).toEqual(['10.0.0.2'])
  expect(slice()?.ports).toEqual([{ name: 'http', port: 9090, protocol: 'TCP' }])
  await two.stop()
})

test('the start goes on without a server, and joins when it is there', async () => {
  api.isStalled = true
  const one = endpointsOf({ api, clock, identity: 'shop-1' }, { address: '10.0.0.1' })
  await after(clock, one.endpoints.start(one.host), 60_000)
  api.isStalled = false
  await clock.advance(20_000)
  expect(addresses()).toEqual(['10.0.0.1'])
  await after(clock, one.endpoints.stop())
})

describe('options', () => {
  const good: EndpointsOptions = { service: 'shop', address: '10.0.0.1', ports: [{ port: 80 }] }

  test.each<[Partial<Record<keyof EndpointsOptions, unknown>>, string]>([
    [{ address: '127.0.0.1' }, 'refuses loopback addresses'],
    [{ address: '169.254.1.1' }, 'refuses link-local addresses'],
    [{ address: '0.0.0.0' }, 'refuses unspecified addresses'],
    [{ address: '::1' }, 'refuses loopback addresses'],
    [{ address: 'fe80::1' }, 'refuses link-local addresses'],
    [{ address: 'fd00::1', addressType: 'IPv4' }, '`address` to be an IPv4 address'],
    [{ address: '::ffff:10.0.0.1' }, '`address` to be an IPv4 or IPv6 address'],
    [{ address: 'shop.example' }, '`address` to be an IPv4 or IPv6 address'],
    [{ address: undefined }, '`address` to be'],
    [{ ports: [] }, '`ports` to be an array of 1 to 100 ports'],
    [{ ports: [{ port: 0 }] }, '`ports[0].port` to be a whole number'],
    [{ ports: [{ port: 1 }, { port: 2 }] }, 'the names of `ports` to be unique'],
    [{ ports: [{ name: 'HTTP', port: 1 }] }, '`ports[0].name` to be an RFC 1123 label'],
    [{ mode: 'fastest' }, '`mode` to be one of lease, master-count, leader, none'],
    [{ mode: 'master-count' }, '`count` to be a whole number'],
    [{ count: 3 }, '`count` only with mode `master-count`'],
    [{ lease: 'x' }, '`lease` only with mode `leader`'],
    [{ service: 'Shop' }, '`service` to be an RFC 1123 label'],
    [{ adress: '10.0.0.1' } as never, 'Unknown option `adress` in `endpoints()`; did you mean `address`?'],
  ])('refuses %o', (bad, message) => {
    expect(() => endpoints({ ...good, ...bad } as EndpointsOptions)).toThrow(message)
  })

  test('takes one form of an IPv6 address', async () => {
    api.put('services', { metadata: { name: 'six' }, spec: {} })
    const one = endpointsOf({ api, clock, identity: 'six' }, { service: 'six', address: 'FD00:0:0::1' })
    await after(clock, one.endpoints.start(one.host))
    expect(one.endpoints.addresses).toEqual(['fd00::1'])
    await after(clock, one.endpoints.stop())
  })
})
