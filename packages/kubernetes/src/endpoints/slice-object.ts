import { isDeepStrictEqual } from 'node:util'
import type { Resource } from '../client/resource.ts'
import { isJsonObject, type JsonObject, objectAt, stringAt } from '../json-object.ts'
import type { AddressType } from './endpoint-address.ts'
import type { EndpointPortOptions } from './endpoints-options.ts'
import { endpointBody, readEndpoint, type SliceEndpoint, sortedByAddress } from './slice-endpoint.ts'

/** The resource that slices are. */
export const SLICES: Resource = { group: 'discovery.k8s.io', version: 'v1', resource: 'endpointslices' }

/** The value of the label `endpointslice.kubernetes.io/managed-by` in the slices that Tenure writes. */
export const MANAGED_BY = 'endpoints.tenure.dev'

const MANAGED_BY_LABEL = 'endpointslice.kubernetes.io/managed-by'
const SERVICE_LABEL = 'kubernetes.io/service-name'

/** What never changes about a slice. */
export interface SliceSource {
  readonly name: string
  readonly namespace: string
  readonly service: string
  readonly addressType: AddressType
  readonly ports: readonly EndpointPortOptions[]
}

/** A slice as it is stored. */
export interface StoredSlice {
  readonly object: JsonObject
  /** Sorted by their addresses, as text. Without entries that have not exactly one address. */
  readonly entries: readonly SliceEndpoint[]
  /** Whether the entries are exactly those of the object, in their order. */
  readonly isTidy: boolean
  /** Why Tenure may not write it; undefined if it may. */
  readonly foreign: string | undefined
  /** The uid of the Service that owns it. */
  readonly ownerUid: string | undefined
}

/** Reads a slice. */
export function readSlice(object: JsonObject, source: SliceSource): StoredSlice {
  const listed: unknown = object['endpoints'] ?? []
  const all: readonly unknown[] = Array.isArray(listed) ? listed : []
  const read = all.map(readEndpoint)
  const known = read.filter((entry) => entry !== undefined)
  const byAddress = new Map(known.map((entry) => [entry.address, entry]))
  const entries = sortedByAddress(byAddress.values())
  const isTidy = entries.length === all.length && entries.every((entry, index) => entry === read[index])
  return { object, entries, isTidy, foreign: whyForeign(object, source), ownerUid: ownerUid(object, source) }
}

/** Whether the ports are those that this replica listens on. */
export function hasPorts({ object }: StoredSlice, { ports }: SliceSource): boolean {
  const stored: unknown = object['ports'] ?? []
  if (!Array.isArray(stored)) return false
  const read: readonly unknown[] = stored
  if (!read.every(isJsonObject)) return false
  return isDeepStrictEqual(read.map(portKey).sort(), ports.map((port) => portKey(portBody(port))).sort())
}

/** Whether label and owner are as Tenure writes them. */
export function isAttributed({ object, ownerUid: owner }: StoredSlice, source: SliceSource, uid: string): boolean {
  return stringAt(labelsOf(object), SERVICE_LABEL) === source.service && owner === uid
}

/** The body that creates the slice, or replaces the stored one. Keeps the labels and annotations of others. */
export function sliceBody(source: SliceSource, { stored, entries, serviceUid, keepsPorts }: SliceChange): JsonObject {
  const { name, namespace, service, addressType, ports } = source
  const { managedFields: _, ...metadata } = objectAt(stored?.object ?? {}, 'metadata')
  const owner = { apiVersion: 'v1', kind: 'Service', name: service, uid: serviceUid }
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      ...metadata,
      name,
      namespace,
      labels: { ...objectAt(metadata, 'labels'), [SERVICE_LABEL]: service, [MANAGED_BY_LABEL]: MANAGED_BY },
      ownerReferences: [owner],
    },
    addressType,
    endpoints: entries.map(endpointBody),
    ports: keepsPorts && stored !== undefined ? stored.object['ports'] : ports.map(portBody),
  }
}

/** What changes in a slice. */
export interface SliceChange {
  readonly stored: StoredSlice | undefined
  readonly entries: readonly SliceEndpoint[]
  readonly serviceUid: string
  /** Whether the ports stay as they are. */
  readonly keepsPorts: boolean
}

function portBody({ name = '', port, protocol = 'TCP', appProtocol }: EndpointPortOptions): JsonObject {
  return { name, port, protocol, appProtocol }
}

function portKey(port: JsonObject): string {
  const { name = '', protocol = 'TCP', appProtocol } = port
  return JSON.stringify([name, port['port'], protocol, appProtocol])
}

function whyForeign(object: JsonObject, { service, addressType }: SliceSource): string | undefined {
  const managedBy = stringAt(labelsOf(object), MANAGED_BY_LABEL)
  if (managedBy !== MANAGED_BY) {
    return `its label ${MANAGED_BY_LABEL} is ${managedBy === undefined ? 'missing' : `"${managedBy}"`}, not "${MANAGED_BY}"`
  }
  const of = stringAt(labelsOf(object), SERVICE_LABEL)
  if (of !== undefined && of !== service) return `it belongs to the Service "${of}"`
  const type = stringAt(object, 'addressType')
  return type === addressType ? undefined : `its addressType is ${type}, not ${addressType}, and cannot be changed`
}

function ownerUid(object: JsonObject, { service }: SliceSource): string | undefined {
  const owners: unknown = objectAt(object, 'metadata')['ownerReferences']
  if (!Array.isArray(owners)) return undefined
  const owner: unknown = owners.find((one) => isJsonObject(one) && one['kind'] === 'Service' && one['name'] === service)
  return isJsonObject(owner) ? stringAt(owner, 'uid') : undefined
}

function labelsOf(object: JsonObject): JsonObject {
  return objectAt(objectAt(object, 'metadata'), 'labels')
}
