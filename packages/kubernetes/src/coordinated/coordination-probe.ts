import { objectAt, isJsonObject, stringAt } from '../json-object.ts'
import { target } from '../client/object-requests.ts'
import { collectionPath } from '../client/resource.ts'
import type { LeaseClient } from '../locks/lease/lease-client.ts'
import { LEASES } from '../locks/lease/lease-object.ts'
import { OLDEST_EMULATION_VERSION } from './candidate-object.ts'

/**
 * Whether the API server elects: it creates a Lease with a strategy in a dry run and answers what it would store. A server whose feature gate
 * is off drops the strategy. Discovery proves nothing: LeaseCandidates can be served although nobody elects.
 */
export async function serverElects(client: LeaseClient, namespace: string, signal: AbortSignal): Promise<boolean> {
  const selection = { ...LEASES, namespace }
  const answer = await client.transport.send({
    method: 'POST',
    path: collectionPath(selection),
    query: { dryRun: 'All' },
    body: {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { generateName: 'tenure-probe-' },
      spec: { strategy: OLDEST_EMULATION_VERSION },
    },
    target: target('create', selection),
    signal,
  })
  return isJsonObject(answer) && stringAt(objectAt(answer, 'spec'), 'strategy') === OLDEST_EMULATION_VERSION
}
