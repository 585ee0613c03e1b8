import { OptionsError } from '@tenure/core'
import { assertKnownKeys, assertOneOf } from '@tenure/core/internal'
import { assertDnsLabel, assertDnsSubdomain } from '../client/dns-name.ts'
import { LEASE_CLIENT_KEYS, type LeaseClientOptions } from '../locks/lease/lease-client.ts'
import type { Membership } from '../membership/membership.ts'
import {
  type ResolvedClientOptions,
  resolveClientOptions,
  resolveMembershipOptions,
  type ResolvedMembershipOptions,
  resolveNamespace,
} from '../membership/membership-options.ts'
import { ADDRESS_TYPES, type AddressType, assertAddress, canonicalAddress, familyOf } from './endpoint-address.ts'
import { MAX_ENDPOINTS } from './decide.ts'

const MODES = ['lease', 'master-count', 'leader', 'none'] as const

/**
 * Which replicas are in the slice. `lease`: the living and ready ones, by their identity Leases. `master-count`: as kube-apiserver with
 * `--endpoint-reconciler-type=master-count`, but a dead entry goes before a living one. `leader`: the present leader only. `none`: writes
 * nothing.
 */
export type EndpointsMode = (typeof MODES)[number]

/** A port that every replica listens on. */
export interface EndpointPortOptions {
  /** The name of the port, as in the Service. An RFC 1123 label. @default '' */
  readonly name?: string
  /** The port number. */
  readonly port: number
  /** The protocol. @default 'TCP' */
  readonly protocol?: 'TCP' | 'UDP' | 'SCTP'
  /** The application protocol, such as `kubernetes.io/h2c`. @default none */
  readonly appProtocol?: string
}

/** Options of {@link endpoints}. */
export interface EndpointsOptions extends Partial<LeaseClientOptions> {
  /** Name of the Service. It must exist and have no selector. */
  readonly service: string
  /** Namespace of the Service, the slice and the Leases. @default `POD_NAMESPACE`, the namespace of the service account, `default` */
  readonly namespace?: string
  /** Which replicas are in the slice. The same for all replicas. @default 'lease' */
  readonly mode?: EndpointsMode
  /** The IP address at which clients reach this replica, not needed with mode `none`. Neither loopback nor link-local. */
  readonly address?: string
  /** The ports of the slice, not needed with mode `none`. The same for all replicas. */
  readonly ports?: readonly EndpointPortOptions[]
  /** The address family of the slice. @default that of `address` */
  readonly addressType?: 'IPv4' | 'IPv6'
  /** Name of the EndpointSlice. Two slices of one Service, one per address family, need two names. @default the name of the Service */
  readonly slice?: string
  /** The node of this replica, for topology-aware routing. @default `NODE_NAME` */
  readonly nodeName?: string
  /** The zone of this replica, for topology-aware routing. @default none */
  readonly zone?: string
  /** How many replicas there are. Required with mode `master-count`, and only there. */
  readonly count?: number
  /** The lease whose leader is in the slice, with mode `leader`. @default the lease of the manager */
  readonly lease?: string
  /**
   * Whether this replica is ready for clients. Asked every 100 ms until it is, then every 5 s. A replica that is not ready three times
   * in a row stays in the slice with `ready: false`. @default whether all checks of `/readyz` pass
   */
  readonly isReady?: () => boolean | Promise<boolean>
  /** The group of the replicas, if the program has one. Use it before the endpoints. @default a group with the name of the slice */
  readonly membership?: Membership
  /** Of the default group: see `leaseDurationMs` of `membership()`. @default 15000 */
  readonly leaseDurationMs?: number
  /** Of the default group: see `renewIntervalMs` of `membership()`. @default a third of `leaseDurationMs` */
  readonly renewIntervalMs?: number
  /** Of the default group: see `proveDeath` of `membership()`. @default false */
  readonly proveDeath?: boolean
}

/** {@link EndpointsOptions} with every default filled in. */
export interface ResolvedEndpointsOptions {
  readonly mode: EndpointsMode
  readonly name: string
  readonly namespace: string
  readonly service: string
  readonly address: string
  readonly addressType: AddressType
  readonly ports: readonly EndpointPortOptions[]
  readonly nodeName: string | undefined
  readonly zone: string | undefined
  readonly count: number
  readonly lease: string | undefined
  readonly isReady: (() => boolean | Promise<boolean>) | undefined
  readonly membership: Membership | ResolvedMembershipOptions
  readonly client: ResolvedClientOptions
}

const OWN_GROUP = ['leaseDurationMs', 'renewIntervalMs', 'proveDeath'] as const satisfies (keyof EndpointsOptions)[]

const KEYS: readonly (keyof EndpointsOptions)[] = [
  'service',
  'namespace',
  'mode',
  'address',
  'ports',
  'addressType',
  'slice',
  'nodeName',
  'zone',
  'count',
  'lease',
  'isReady',
  'membership',
  ...OWN_GROUP,
  ...LEASE_CLIENT_KEYS,
]

/** Checks all options and fills in the defaults. @throws OptionsError naming the option, its value and what was expected */
export function resolveEndpointsOptions(options: EndpointsOptions, env: NodeJS.ProcessEnv): ResolvedEndpointsOptions {
  assertKnownKeys('`endpoints()`', options, KEYS)
  const { mode = 'lease', service, slice = service, nodeName = env['NODE_NAME'], zone, lease, isReady } = options
  assertDnsLabel('service', service)
  assertDnsSubdomain('slice', slice)
  assertOneOf('mode', mode, MODES)
  for (const [name, value] of Object.entries({ nodeName, zone, lease })) assertText(name, value)
  if (isReady !== undefined && typeof isReady !== 'function') {
    throw OptionsError.expected('`isReady` to be a function', isReady)
  }
  if (lease !== undefined && mode !== 'leader') throw OptionsError.expected('`lease` only with mode `leader`', lease)
  return {
    mode,
    service,
    name: slice,
    nodeName: nodeName || undefined,
    zone,
    lease,
    isReady,
    namespace: resolveNamespace(options.namespace, env),
    ...resolvePlace(options, mode),
    count: resolveCount(options.count, mode),
    membership: resolveGroup(options, slice, env),
    client: resolveClientOptions(options, env),
  }
}

function resolvePlace(
  { address, addressType, ports }: EndpointsOptions,
  mode: EndpointsMode,
): Pick<ResolvedEndpointsOptions, 'address' | 'addressType' | 'ports'> {
  assertOneOf('addressType', addressType, ADDRESS_TYPES)
  if (mode === 'none') return { address: '', addressType: addressType ?? 'IPv4', ports: [] }
  assertAddress('address', address, addressType)
  assertPorts(ports)
  return { address: canonicalAddress(address), addressType: addressType ?? familyOf(address) ?? 'IPv4', ports }
}

const PROTOCOLS = ['TCP', 'UDP', 'SCTP']

function assertPorts(ports: unknown): asserts ports is readonly EndpointPortOptions[] {
  if (!Array.isArray(ports) || ports.length === 0 || ports.length > 100) {
    throw OptionsError.expected('`ports` to be an array of 1 to 100 ports', ports)
  }
  const names = (ports as readonly EndpointPortOptions[]).map((port, index) => assertPort(port, index))
  const twice = names.find((name, index) => names.indexOf(name) < index)
  if (twice !== undefined) throw OptionsError.expected('the names of `ports` to be unique', twice)
}

/** Returns the name of the port. */
function assertPort(port: EndpointPortOptions, index: number): string {
  assertKnownKeys(`\`ports[${index}]\``, port, ['name', 'port', 'protocol', 'appProtocol'])
  const { name = '', port: number, protocol, appProtocol } = port
  if (name !== '') assertDnsLabel(`ports[${index}].name`, name)
  if (!Number.isInteger(number) || number < 1 || number > 65_535) {
    throw OptionsError.expected(`\`ports[${index}].port\` to be a whole number between 1 and 65535`, number)
  }
  assertOneOf(`ports[${index}].protocol`, protocol, PROTOCOLS)
  assertText(`ports[${index}].appProtocol`, appProtocol)
  return name
}

function resolveCount(count: unknown, mode: EndpointsMode): number {
  if (mode !== 'master-count') {
    if (count !== undefined) throw OptionsError.expected('`count` only with mode `master-count`', count)
    return MAX_ENDPOINTS
  }
  if (typeof count === 'number' && Number.isInteger(count) && count >= 1 && count <= MAX_ENDPOINTS) return count
  throw OptionsError.expected(`\`count\` to be a whole number between 1 and ${MAX_ENDPOINTS}`, count)
}

/** The given group, or the options of a group with the name of the slice. */
function resolveGroup(
  options: EndpointsOptions,
  slice: string,
  env: NodeJS.ProcessEnv,
): ResolvedEndpointsOptions['membership'] {
  const { membership, address, zone, namespace } = options
  const ofGroup = OWN_GROUP.filter((name) => options[name] !== undefined)
  const [first] = ofGroup
  if (membership !== undefined && first !== undefined) {
    throw OptionsError.expected(`\`${first}\` only without \`membership\`, which has its own`, options[first])
  }
  if (membership !== undefined) {
    if (typeof membership.note === 'function') return membership
    throw OptionsError.expected('`membership` to be what `membership()` returns', membership)
  }
  const given = [...ofGroup, ...LEASE_CLIENT_KEYS].map((key) => [key, options[key]] as const)
  const own = { group: slice, ...(address !== undefined && { address }), ...(zone !== undefined && { zone }) }
  const scope = namespace === undefined ? {} : { namespace }
  return resolveMembershipOptions({ ...own, ...scope, ...Object.fromEntries(given) }, env)
}

function assertText(name: string, value: unknown): void {
  if (value === undefined || (typeof value === 'string' && value.length <= 253)) return
  throw OptionsError.expected(`\`${name}\` to be a text of at most 253 characters`, value)
}
