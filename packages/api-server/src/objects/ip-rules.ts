/** The rules for IP addresses in objects, with the messages of the API server. */
import { BlockList, isIPv4, isIPv6, SocketAddress } from 'node:net'
import type { FieldCause } from './api-status.ts'
import { invalidValue } from './field-causes.ts'

const OCTETS_WITH_ZEROS = /^0*(\d{1,3})\.0*(\d{1,3})\.0*(\d{1,3})\.0*(\d{1,3})$/
const MAPPED = /^::ffff:/i

/** The errors in an IP address of either family. Other spellings of an IPv6 address are valid. */
export function ipErrors(field: string, address: string): FieldCause[] {
  if (isIPv4(address)) return []
  if (isIPv6(address)) {
    return MAPPED.test(address) ? [invalidValue(field, address, 'must not be an IPv4-mapped IPv6 address')] : []
  }
  if (isIPv4(address.replace(OCTETS_WITH_ZEROS, '$1.$2.$3.$4'))) {
    return [invalidValue(field, address, 'must not have leading 0s')]
  }
  return [invalidValue(field, address, 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)')]
}

/** The errors in the spelling of a valid IP address where only one is allowed. */
export function canonicalIpErrors(field: string, address: string): FieldCause[] {
  if (isIPv4(address)) return []
  const canonical = new SocketAddress({ address, family: 'ipv6' }).address
  if (canonical === address) return []
  return [invalidValue(field, address, `must be in canonical form ("${canonical}")`)]
}

type Range = readonly [network: string, prefix: number, family: 'ipv4' | 'ipv6']

interface SpecialRange {
  readonly addresses: BlockList
  /** `%` stands for the address. */
  readonly why: string
}

function special(why: string, ranges: readonly Range[]): SpecialRange {
  const addresses = new BlockList()
  for (const [network, prefix, family] of ranges) addresses.addSubnet(network, prefix, family)
  return { addresses, why }
}

const SPECIAL_RANGES: readonly SpecialRange[] = [
  special('may not be unspecified (%)', [
    ['0.0.0.0', 32, 'ipv4'],
    ['::', 128, 'ipv6'],
  ]),
  special('may not be in the loopback range (127.0.0.0/8, ::1/128)', [
    ['127.0.0.0', 8, 'ipv4'],
    ['::1', 128, 'ipv6'],
  ]),
  special('may not be in the link-local range (169.254.0.0/16, fe80::/10)', [
    ['169.254.0.0', 16, 'ipv4'],
    ['fe80::', 10, 'ipv6'],
  ]),
  special('may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)', [
    ['224.0.0.0', 24, 'ipv4'],
    ['ff02::', 16, 'ipv6'],
  ]),
]

/** The errors in a valid IP address as the address of an endpoint, which others have to reach. */
export function endpointIpErrors(field: string, address: string): FieldCause[] {
  const family = isIPv4(address) ? 'ipv4' : 'ipv6'
  return SPECIAL_RANGES.filter(({ addresses }) => addresses.check(address, family)).map(({ why }) =>
    invalidValue(field, address, why.replace('%', address)),
  )
}
