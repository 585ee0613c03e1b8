import { OptionsError } from '@tenure/core'
import { silentLogger, systemClock, systemRandom } from '@tenure/core/internal'
import { expect, test } from 'vitest'
import { canonicalAddress, familyOf } from '../../src/endpoints/endpoint-address.ts'
import { type EndpointsOptions, resolveEndpointsOptions } from '../../src/endpoints/endpoints-options.ts'
import { resolveMembershipOptions } from '../../src/membership/membership-options.ts'
import { kubeConfigFor } from '../support/loopback-server.ts'
import { memberOf } from '../support/replicas.ts'
import { VirtualApi } from '../support/virtual-api.ts'
import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'

const kubeConfig = kubeConfigFor('http://127.0.0.1:1')
const ports = [{ port: 80 }]

const resolve = (options: object = {}, env: NodeJS.ProcessEnv = {}) =>
  resolveEndpointsOptions({ service: 'shop', address: '10.0.0.1', ports, kubeConfig, ...options }, env)

const client = { kubeConfig, clock: systemClock, random: systemRandom, logger: silentLogger }

test('what is not given has its default', () => {
  expect(resolve()).toEqual({
    mode: 'lease',
    service: 'shop',
    name: 'shop',
    namespace: 'default',
    address: '10.0.0.1',
    addressType: 'IPv4',
    ports,
    nodeName: undefined,
    zone: undefined,
    count: 1000,
    lease: undefined,
    isReady: undefined,
    membership: resolveMembershipOptions({ group: 'shop', address: '10.0.0.1', kubeConfig }, {}),
    client,
  })
})

test('the environment of the Pod says where it runs', () => {
  expect(resolve({}, { NODE_NAME: 'node-1', POD_NAMESPACE: 'web' })).toMatchObject({
    nodeName: 'node-1',
    namespace: 'web',
    membership: { namespace: 'web' },
  })
  expect(resolve({}, { NODE_NAME: '' }).nodeName).toBeUndefined()
})

test('what is given is used, also for the group', () => {
  const given = { namespace: 'ops', nodeName: 'node-1', zone: 'z', isReady: () => true }
  const ofGroup = { leaseDurationMs: 9000, renewIntervalMs: 1000, proveDeath: true }
  const group = { group: 'shop-v4', address: '10.0.0.1', namespace: 'ops', zone: 'z', ...ofGroup }
  expect(resolve({ ...given, ...ofGroup, slice: 'shop-v4', userAgent: 'shop' })).toMatchObject({
    ...given,
    name: 'shop-v4',
    membership: resolveMembershipOptions({ ...group, kubeConfig, userAgent: 'shop' }, {}),
    client: { ...client, userAgent: 'shop' },
  })
})

test('the mode leader has a lease, the mode master-count a count, and the mode none neither address nor ports', () => {
  expect(resolve({ mode: 'leader', lease: 'sweep' })).toMatchObject({ mode: 'leader', lease: 'sweep', count: 1000 })
  for (const count of [1, 1000]) expect(resolve({ mode: 'master-count', count })).toMatchObject({ count })
  const none = { mode: 'none', address: undefined, ports: undefined }
  expect(resolve(none)).toMatchObject({ address: '', addressType: 'IPv4', ports: [] })
  expect(resolve({ ...none, addressType: 'IPv6' }).addressType).toBe('IPv6')
})

test('the family of the slice is that of the address, in its one form', () => {
  expect(resolve({ address: 'FD00:0::1' })).toMatchObject({ address: 'fd00::1', addressType: 'IPv6' })
  expect(resolve({ address: 'fd00::1', addressType: 'IPv6' }).addressType).toBe('IPv6')
  expect(resolve({ addressType: 'IPv4' }).addressType).toBe('IPv4')
})

test.each([
  ['10.0.0.1', 'IPv4', '10.0.0.1'],
  ['fd00:0:0::1', 'IPv6', 'fd00::1'],
  ['::ffff:10.0.0.1', undefined, '::ffff:10.0.0.1'],
  ['fe80::1%eth0', undefined, 'fe80::1%eth0'],
  ['shop', undefined, 'shop'],
])('the address %s is of the family %s', (address, family, canonical) => {
  expect([familyOf(address), canonicalAddress(address)]).toEqual([family, canonical])
})

test.each([
  ['0.0.0.0', 'unspecified'],
  ['::', 'unspecified'],
  ['127.255.0.1', 'loopback'],
  ['::1', 'loopback'],
  ['169.254.9.9', 'link-local'],
  ['febf::1', 'link-local'],
  ['224.0.0.251', 'link-local multicast'],
  ['ff02::1', 'link-local multicast'],
])('the address %s is refused: it is %s', (address, what) => {
  expect(() => resolve({ address })).toThrow(
    `Expected \`address\` to be an address that other nodes reach: the API server refuses ${what} addresses in an EndpointSlice, got \`${address}\``,
  )
})

test.each(['0.0.0.1', '::2', '128.0.0.1', '169.253.0.1', 'fec0::1', '224.0.1.1', 'ff03::1'])(
  'the address %s beside a special one is taken',
  (address) => {
    expect(resolve({ address }).address).toBe(address)
  },
)

test('a group that the program has is used as it is', () => {
  const clock = new VirtualClock()
  const { member } = memberOf({ api: new VirtualApi(clock), clock, identity: 'a' })
  expect(resolve({ membership: member }).membership).toBe(member)
  for (const [name, value] of [
    ['leaseDurationMs', 9000],
    ['renewIntervalMs', 1000],
    ['proveDeath', true],
  ] as const) {
    expect(() => resolve({ membership: member, [name]: value })).toThrow(
      `Expected \`${name}\` only without \`membership\`, which has its own, got \`${value}\``,
    )
  }
  expect(() => resolve({ membership: {} })).toThrow('Expected `membership` to be what `membership()` returns, got `')
})

test('ports may have all that the API server takes, and up to 100 of them', () => {
  const all = [
    { name: 'a', port: 1, protocol: 'UDP', appProtocol: 'x'.repeat(253) },
    { name: 'b', port: 65_535, protocol: 'SCTP' },
    { port: 80, protocol: 'TCP' },
  ]
  expect(resolve({ ports: all }).ports).toBe(all)
  const many = Array.from({ length: 100 }, (_, index) => ({ name: `p${index}`, port: 1 }))
  expect(resolve({ ports: many }).ports).toBe(many)
})

const long = 'x'.repeat(254)
test.each<[object, string]>([
  [{ service: 'Shop' }, '`service` to be an RFC 1123 label'],
  [{ slice: 'a..b' }, '`slice` to be an RFC 1123 subdomain'],
  [{ namespace: 'Ops' }, '`namespace` to be an RFC 1123 label'],
  [{ mode: 'fast' }, '`mode` to be one of lease, master-count, leader, none'],
  [{ addressType: 'IPv5' }, '`addressType` to be one of IPv4, IPv6'],
  [{ address: 1 }, 'Expected `address` to be an IPv4 or IPv6 address, got `1`'],
  [
    { addressType: 'IPv6' },
    'Expected `address` to be an IPv6 address, because `addressType` of the slice is IPv6, got `10.0.0.1`',
  ],
  [{ nodeName: long }, 'Expected `nodeName` to be a text of at most 253 characters, got `'],
  [{ zone: 1 }, 'Expected `zone` to be a text of at most 253 characters, got `1`'],
  [{ lease: 1, mode: 'leader' }, 'Expected `lease` to be a text of at most 253 characters, got `1`'],
  [{ isReady: true }, 'Expected `isReady` to be a function, got `true`'],
  [{ lease: 'x' }, 'Expected `lease` only with mode `leader`, got `x`'],
  [{ count: 3 }, 'Expected `count` only with mode `master-count`, got `3`'],
  ...[undefined, 0, 1001, 1.5, '3'].map((count): [object, string] => [
    { mode: 'master-count', count },
    'Expected `count` to be a whole number between 1 and 1000, got `',
  ]),
  ...['x', [], Array.from({ length: 101 }, (_, index) => ({ name: `p${index}`, port: 1 }))].map(
    (bad): [object, string] => [{ ports: bad }, 'Expected `ports` to be an array of 1 to 100 ports, got `'],
  ),
  ...[0, 65_536, 1.5, '80'].map((port): [object, string] => [
    { ports: [{ port: 1 }, { name: 'b', port }] },
    'Expected `ports[1].port` to be a whole number between 1 and 65535, got `',
  ]),
  [{ ports: [{ port: 1, name: 'HTTP' }] }, '`ports[0].name` to be an RFC 1123 label'],
  [{ ports: [{ port: 1, protocol: 'tcp' }] }, '`ports[0].protocol` to be one of TCP, UDP, SCTP'],
  [{ ports: [{ port: 1, appProtocol: 1 }] }, 'Expected `ports[0].appProtocol` to be a text of at most 253 characters'],
  [{ ports: [{ port: 1, appProtocl: '' }] }, 'Unknown option `appProtocl` in `ports[0]`'],
  [{ ports: [{ port: 1, nam: '' }] }, 'did you mean `name`?'],
  [{ ports: [{ port: 1, prt: '' }] }, 'did you mean `port`?'],
  [{ ports: [{ port: 1, protocl: '' }] }, 'did you mean `protocol`?'],
  [
    {
      ports: [
        { name: 'a', port: 1 },
        { name: 'a', port: 2 },
      ],
    },
    'Expected the names of `ports` to be unique, got `a`',
  ],
])('an option that is not as expected is refused, with what is expected (%#)', (options, message) => {
  expect(() => resolve(options)).toThrow(OptionsError)
  expect(() => resolve(options)).toThrow(message)
})

test.each<keyof EndpointsOptions>([
  ...(['service', 'namespace', 'mode', 'address', 'ports', 'addressType', 'slice', 'nodeName', 'zone'] as const),
  ...(['count', 'lease', 'isReady', 'membership', 'leaseDurationMs', 'renewIntervalMs', 'proveDeath'] as const),
  ...(['kubeConfig', 'userAgent', 'clock', 'random', 'logger'] as const),
])('the option %s is known', (name) => {
  expect(() => resolve({ [`${name}Q`]: 1 })).toThrow(
    `Unknown option \`${name}Q\` in \`endpoints()\`; did you mean \`${name}\`?`,
  )
})
