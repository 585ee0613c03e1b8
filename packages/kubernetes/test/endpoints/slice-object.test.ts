import { describe, expect, test } from 'vitest'
import type { Situation } from '../../src/endpoints/decide.ts'
import { areSameEndpoints, endpointBody, readEndpoint, type SliceEndpoint } from '../../src/endpoints/slice-endpoint.ts'
import { hasPorts, isAttributed, readSlice, sliceBody, type SliceSource } from '../../src/endpoints/slice-object.ts'
import { describeForeign, describeOtherPorts, isOfOtherPorts } from '../../src/endpoints/slice-refusals.ts'
import type { JsonObject } from '../../src/json-object.ts'

const source: SliceSource = {
  name: 'shop-v4',
  namespace: 'ops',
  service: 'shop',
  addressType: 'IPv4',
  ports: [
    { name: 'http', port: 8080 },
    { port: 53, protocol: 'UDP', appProtocol: 'dns' },
  ],
}

const labels = {
  'kubernetes.io/service-name': 'shop',
  'endpointslice.kubernetes.io/managed-by': 'endpoints.tenure.dev',
}

const ports = [
  { name: 'http', port: 8080, protocol: 'TCP' },
  { name: '', port: 53, protocol: 'UDP', appProtocol: 'dns' },
]

const entry = (address: string, more: Partial<SliceEndpoint> = {}): SliceEndpoint => ({
  address,
  ready: true,
  serving: true,
  terminating: false,
  nodeName: undefined,
  zone: undefined,
  ...more,
})

const listed = (...addresses: readonly string[]) => ({
  endpoints: addresses.map((address) => endpointBody(entry(address))),
})

/** A stored slice as Tenure writes it, but for what a test changes. */
const stored = (change: JsonObject = {}): JsonObject => ({
  metadata: { labels, ownerReferences: [{ kind: 'Service', name: 'shop', uid: 'u' }] },
  addressType: 'IPv4',
  ports,
  ...change,
})

const read = (change: JsonObject = {}) => readSlice(stored(change), source)

describe('an entry', () => {
  test('is written with its address, its conditions, and where it is if that is known', () => {
    const conditions = { ready: false, serving: true, terminating: true }
    const draining = entry('10.0.0.1', conditions)
    expect(endpointBody(draining)).toEqual({ addresses: ['10.0.0.1'], conditions })
    const placed = { ...draining, nodeName: 'node-1', zone: 'eu-1a' }
    expect(endpointBody(placed)).toEqual({ addresses: ['10.0.0.1'], conditions, nodeName: 'node-1', zone: 'eu-1a' })
    expect(readEndpoint(endpointBody(placed))).toEqual(placed)
    expect(readEndpoint(endpointBody(draining))).toEqual(draining)
  })

  test.each([
    ['no conditions', {}, { ready: true, serving: true, terminating: false }],
    ['others of their types', { conditions: { ready: 1, serving: 1, terminating: 1 } }, {}],
    ['only `ready: false`', { conditions: { ready: false } }, { ready: false, serving: false }],
    ['`serving` beside it', { conditions: { ready: false, serving: true } }, { ready: false, serving: true }],
    ['places of other types', { nodeName: 1, zone: 2 }, {}],
  ])('with %s means the usual', (_, more, expected) => {
    expect(readEndpoint({ addresses: ['10.0.0.1'], ...more })).toEqual(entry('10.0.0.1', expected))
  })

  test.each([
    [undefined],
    ['x'],
    [{}],
    [{ addresses: 'x' }],
    [{ addresses: [] }],
    [{ addresses: ['a', 'b'] }],
    [{ addresses: [1] }],
  ])('has exactly one address: %j has not', (object) => {
    expect(readEndpoint(object)).toBeUndefined()
  })

  test('equals another one if all of it does', () => {
    const [a, b] = [entry('10.0.0.1'), entry('10.0.0.2')]
    for (const change of [
      { ready: false },
      { serving: false },
      { terminating: true },
      { nodeName: 'n' },
      { zone: 'z' },
    ])
      expect(areSameEndpoints([a], [{ ...a, ...change }])).toBe(false)
    expect(areSameEndpoints([a, b], [{ ...a }, b])).toBe(true)
    expect(areSameEndpoints([a, b], [b, a])).toBe(false)
    expect(areSameEndpoints([a], [a, b])).toBe(false)
    expect(areSameEndpoints([a, b], [a])).toBe(false)
    expect(areSameEndpoints([], [])).toBe(true)
  })
})

describe('a slice', () => {
  test('is created for the Service', () => {
    expect(
      sliceBody(source, { stored: undefined, entries: [entry('10.0.0.1')], serviceUid: 'u', keepsPorts: true }),
    ).toEqual({
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: {
        name: 'shop-v4',
        namespace: 'ops',
        labels,
        ownerReferences: [{ apiVersion: 'v1', kind: 'Service', name: 'shop', uid: 'u' }],
      },
      addressType: 'IPv4',
      endpoints: [endpointBody(entry('10.0.0.1'))],
      ports,
    })
  })

  test('keeps labels and annotations of others, and its ports if they are to stay', () => {
    const other = [{ name: 'http', port: 1, protocol: 'TCP' }]
    const metadata = { labels: { mine: 'x' }, annotations: { a: 'b' }, resourceVersion: '5', managedFields: [{}] }
    const before = read({ metadata, ports: other })
    const change = { stored: before, entries: [], serviceUid: 'u' }
    const kept = sliceBody(source, { ...change, keepsPorts: true })
    expect(kept['ports']).toBe(other)
    expect(kept['metadata']).toEqual({
      name: 'shop-v4',
      namespace: 'ops',
      labels: { mine: 'x', ...labels },
      annotations: { a: 'b' },
      resourceVersion: '5',
      ownerReferences: [{ apiVersion: 'v1', kind: 'Service', name: 'shop', uid: 'u' }],
    })
    expect(sliceBody(source, { ...change, keepsPorts: false })['ports']).toEqual(ports)
  })

  test('is read with its entries in order, each address once', () => {
    const slice = read(listed('10.0.0.2', '10.0.0.1', '10.0.0.2'))
    expect(slice.entries).toEqual([entry('10.0.0.1'), entry('10.0.0.2')])
    expect([slice.foreign, slice.ownerUid]).toEqual([undefined, 'u'])
    expect(slice.object).toEqual(stored(listed('10.0.0.2', '10.0.0.1', '10.0.0.2')))
  })

  test.each([
    ['in order', listed('10.0.0.1', '10.0.0.2'), true],
    ['empty', {}, true],
    ['of another type', { endpoints: 'x' }, true],
    ['out of order', listed('10.0.0.2', '10.0.0.1'), false],
    ['twice', listed('10.0.0.1', '10.0.0.1'), false],
    ['no entries', { endpoints: [...listed('10.0.0.1').endpoints, {}] }, false],
  ])('is tidy or not: %s', (_, change, isTidy) => {
    expect(read(change).isTidy).toBe(isTidy)
  })

  test.each([
    ['of no label', {}, 'its label endpointslice.kubernetes.io/managed-by is missing, not "endpoints.tenure.dev"'],
    [
      'of somebody else',
      { labels: { ...labels, 'endpointslice.kubernetes.io/managed-by': 'me' } },
      'its label endpointslice.kubernetes.io/managed-by is "me", not "endpoints.tenure.dev"',
    ],
    [
      'of another Service',
      { labels: { ...labels, 'kubernetes.io/service-name': 'web' } },
      'it belongs to the Service "web"',
    ],
    ['of no Service', { labels: { 'endpointslice.kubernetes.io/managed-by': 'endpoints.tenure.dev' } }, undefined],
  ])('%s is foreign, or is not', (_, metadata, why) => {
    expect(read({ metadata }).foreign).toBe(why)
  })

  test('of another family is foreign', () => {
    expect(read({ addressType: 'IPv6' }).foreign).toBe('its addressType is IPv6, not IPv4, and cannot be changed')
    expect(describeForeign(source, 'it is red')).toBe(
      "Could not keep the EndpointSlice ops/shop-v4: it is red. It is somebody else's. Choose another name with `slice`, or delete it",
    )
  })

  test('has the ports of this replica in any order, with the usual values left out', () => {
    expect(hasPorts(read(), source)).toBe(true)
    const [http, dns] = [
      { name: 'http', port: 8080 },
      { port: 53, protocol: 'UDP', appProtocol: 'dns' },
    ]
    expect(hasPorts(read({ ports: [dns, http] }), source)).toBe(true)
    expect(hasPorts(read({ ports: [http] }), source)).toBe(false)
    expect(hasPorts(read({ ports: [http, { ...dns, port: 54 }] }), source)).toBe(false)
    expect(hasPorts(read({ ports: [http, { ...dns, protocol: 'TCP' }] }), source)).toBe(false)
    expect(hasPorts(read({ ports: [http, { ...dns, appProtocol: 'x' }] }), source)).toBe(false)
    expect(hasPorts(read({ ports: [{ ...http, name: 'web' }, dns] }), source)).toBe(false)
    for (const odd of ['x', null]) expect(hasPorts(read({ ports: [http, odd] }), source)).toBe(false)
    expect(hasPorts(read({ ports: 'x' }), source)).toBe(false)
    expect(hasPorts(read({ ports: undefined }), { ...source, ports: [] })).toBe(true)
  })

  test('is attributed by its label and its owner', () => {
    expect(isAttributed(read(), source, 'u')).toBe(true)
    expect(isAttributed(read(), source, 'v')).toBe(false)
    expect(isAttributed(read(), { ...source, service: 'web' }, 'u')).toBe(false)
    const owners = [
      [[{ kind: 'Service', name: 'web', uid: 'u' }], undefined],
      [[{ kind: 'Pod', name: 'shop', uid: 'u' }], undefined],
      [['x', { kind: 'Service', name: 'shop', uid: 'v' }], 'v'],
      ['x', undefined],
      [undefined, undefined],
    ]
    for (const [ownerReferences, uid] of owners)
      expect(read({ metadata: { labels, ownerReferences } }).ownerUid).toBe(uid)
  })
})

describe('a slice with other ports', () => {
  const situation: Situation = {
    mode: 'lease',
    selfAddress: '10.0.0.1',
    self: entry('10.0.0.1'),
    others: [entry('10.0.0.2')],
    doubtful: new Set(),
    gone: new Set(),
    isCurrent: true,
    count: 3,
    slice: [entry('10.0.0.1'), entry('10.0.0.2')],
  }
  const other = read({ ports: [{ port: 1 }] })

  test.each<[string, Partial<Situation>, boolean]>([
    ['with another member in it', {}, true],
    ['with one of several members in it', { others: [entry('10.0.0.2'), entry('10.0.0.3')] }, true],
    ['for the leader, who replaces it', { mode: 'leader' }, false],
    ['for a replica that wants to be out', { self: undefined }, false],
    ['with nobody else in it', { slice: [entry('10.0.0.1')] }, false],
    ['with only strangers in it', { slice: [entry('10.0.0.1'), entry('10.0.0.9')] }, false],
    ['with its own address taken by another', { others: [entry('10.0.0.1')], slice: [entry('10.0.0.1')] }, false],
  ])('cannot be entered, or can: %s', (_, change, isRefused) => {
    expect(isOfOtherPorts({ ...situation, ...change }, other, source)).toBe(isRefused)
  })

  test('is refused in words', () => {
    expect(isOfOtherPorts(situation, read(), source)).toBe(false)
    expect(describeOtherPorts(source)).toBe(
      'The EndpointSlice ops/shop-v4 has other ports than `ports`, and replicas that listen there. All replicas need the same ports',
    )
  })
})
