import type { SeenSlice } from './slice-watch.ts'

/** What a slice is made of, without the values that are its own. */
export interface SliceForm {
  readonly isNamedAsService: boolean
  readonly labels: readonly string[]
  /** The fields of the reference to the owner; none without one. */
  readonly owner: readonly string[]
  readonly addressType: string
  /** The fields of each endpoint, and how many addresses it has. */
  readonly endpoints: readonly { readonly fields: readonly string[]; readonly addresses: number }[]
  /** The conditions of each endpoint. */
  readonly conditions: readonly Readonly<Record<string, boolean | undefined>>[]
  /** Whether the addresses are in order. */
  readonly isSorted: boolean
  readonly ports: readonly Readonly<Record<string, unknown>>[] | null
  /** The fields of the object, without its type, which items of a list lack. */
  readonly fields: readonly string[]
}

/** The form of a slice. The number of a port is its own; its other fields are not. */
export function formOf(slice: SeenSlice | undefined): SliceForm {
  if (slice === undefined) throw new Error('Expected a slice')
  const { metadata, addressType, ports, ...others } = slice
  const { labels = {}, ownerReferences = [] } = metadata
  const endpoints = slice.endpoints ?? []
  const addresses = endpoints.flatMap((each) => each.addresses)
  return {
    isNamedAsService: labels['kubernetes.io/service-name'] === metadata.name,
    labels: Object.keys(labels).toSorted(),
    owner: ownerReferences.flatMap((reference) => Object.keys(reference)).toSorted(),
    addressType,
    endpoints: endpoints.map((each) => ({ fields: Object.keys(each).toSorted(), addresses: each.addresses.length })),
    conditions: endpoints.map(({ conditions }) => conditions),
    isSorted: addresses.join() === addresses.toSorted().join(),
    ports: ports === null ? null : ports.map(({ port, ...rest }) => ({ ...rest, hasNumber: typeof port === 'number' })),
    fields: Object.keys({ addressType, ports, ...others })
      .filter((field) => field !== 'kind' && field !== 'apiVersion')
      .toSorted(),
  }
}
