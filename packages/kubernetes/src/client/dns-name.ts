import { OptionsError } from '@tenure/core'

const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

/** Asserts an RFC 1123 label, such as the name of a namespace. @throws OptionsError otherwise */
export function assertDnsLabel(option: string, value: unknown): asserts value is string {
  if (typeof value === 'string' && value.length <= 63 && LABEL.test(value)) return
  throw OptionsError.expected(
    `\`${option}\` to be an RFC 1123 label (at most 63 of a-z, 0-9 and "-", beginning and ending with a letter or ` +
      `digit)`,
    value,
  )
}

/** Asserts an RFC 1123 subdomain, such as the name of a Lease. @throws OptionsError otherwise */
export function assertDnsSubdomain(option: string, value: unknown): asserts value is string {
  if (typeof value === 'string' && value.length <= 253 && SUBDOMAIN.test(value)) return
  throw OptionsError.expected(
    `\`${option}\` to be an RFC 1123 subdomain (at most 253 of a-z, 0-9, "-" and ".", each part beginning and ` +
      `ending with a letter or digit)`,
    value,
  )
}
