import { BlockList, isIP } from 'node:net'
import { OptionsError } from '@tenure/core'

/** The address families of a slice. */
export const ADDRESS_TYPES = ['IPv4', 'IPv6'] as const

/** The address family of a slice. */
export type AddressType = (typeof ADDRESS_TYPES)[number]

/** Addresses that the API server refuses in a slice, because they mean another place on every node. */
const SPECIAL: readonly { readonly what: string; readonly list: BlockList }[] = [
  { what: 'unspecified', list: subnets(['0.0.0.0', 32], ['::', 128]) },
  { what: 'loopback', list: subnets(['127.0.0.0', 8], ['::1', 128]) },
  { what: 'link-local', list: subnets(['169.254.0.0', 16], ['fe80::', 10]) },
  { what: 'link-local multicast', list: subnets(['224.0.0.0', 24], ['ff02::', 16]) },
]

/** The family of an address; undefined for anything else. An IPv4 address in IPv6 form is neither: no client can use it. */
export function familyOf(address: string): AddressType | undefined {
  const family = isIP(address)
  if (family === 4) return 'IPv4'
  return family === 6 && !address.includes('.') && !address.includes('%') ? 'IPv6' : undefined
}

/** The one text that stands for an address: IPv6 addresses have several. */
export function canonicalAddress(address: string): string {
  return familyOf(address) === 'IPv6' ? new URL(`http://[${address}]`).hostname.slice(1, -1) : address
}

/** Checks an address before any request. @throws OptionsError if the API server would refuse it, or it does not fit the family */
export function assertAddress(name: string, value: unknown, family?: AddressType): asserts value is string {
  const found = typeof value === 'string' ? familyOf(value) : undefined
  if (typeof value !== 'string' || found === undefined)
    throw OptionsError.expected(`\`${name}\` to be an IPv4 or IPv6 address`, value)
  if (family !== undefined && found !== family) {
    throw OptionsError.expected(
      `\`${name}\` to be an ${family} address, because \`addressType\` of the slice is ${family}`,
      value,
    )
  }
  const special = SPECIAL.find(({ list }) => list.check(value, found === 'IPv4' ? 'ipv4' : 'ipv6'))
  if (special === undefined) return
  throw OptionsError.expected(
    `\`${name}\` to be an address that other nodes reach: the API server refuses ${special.what} addresses in an EndpointSlice`,
    value,
  )
}

function subnets(...nets: readonly (readonly [net: string, prefix: number])[]): BlockList {
  const list = new BlockList()
  for (const [net, prefix] of nets) list.addSubnet(net, prefix, isIP(net) === 4 ? 'ipv4' : 'ipv6')
  return list
}
