import { isJsonObject, type JsonObject, objectAt, stringAt } from '../json-object.ts'

/** One entry of a slice. */
export interface SliceEndpoint {
  readonly address: string
  /** Clients should use it. */
  readonly ready: boolean
  /** It answers, even if clients should use another. */
  readonly serving: boolean
  /** It is about to end. */
  readonly terminating: boolean
  readonly nodeName: string | undefined
  readonly zone: string | undefined
}

/** The entry as the API server keeps it. */
export function endpointBody({ address, ready, serving, terminating, nodeName, zone }: SliceEndpoint): JsonObject {
  return {
    addresses: [address],
    conditions: { ready, serving, terminating },
    nodeName,
    zone,
  }
}

/** Reads an entry of a slice; undefined if it has not exactly one address. A missing condition means the usual: see the API. */
export function readEndpoint(object: unknown): SliceEndpoint | undefined {
  const addresses = isJsonObject(object) ? object['addresses'] : undefined
  if (!isJsonObject(object) || !Array.isArray(addresses) || addresses.length !== 1) return undefined
  const [address] = addresses as unknown[]
  if (typeof address !== 'string') return undefined
  const conditions = objectAt(object, 'conditions')
  const ready = conditions['ready'] !== false
  const serving = typeof conditions['serving'] === 'boolean' ? conditions['serving'] : ready
  const terminating = conditions['terminating'] === true
  const [nodeName, zone] = [stringAt(object, 'nodeName'), stringAt(object, 'zone')]
  return { address, ready, serving, terminating, nodeName, zone }
}

/** Sorts entries by their addresses, as text. */
export function sortedByAddress(entries: Iterable<SliceEndpoint>): readonly SliceEndpoint[] {
  return [...entries].sort((a, b) => (a.address < b.address ? -1 : 1))
}

/** Whether two lists have the same entries in the same order. */
export function areSameEndpoints(a: readonly SliceEndpoint[], b: readonly SliceEndpoint[]): boolean {
  return JSON.stringify(a.map(endpointBody)) === JSON.stringify(b.map(endpointBody))
}
