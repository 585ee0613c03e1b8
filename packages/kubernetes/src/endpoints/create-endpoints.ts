import type { Endpoints } from './endpoints.ts'
import { type EndpointsOptions, resolveEndpointsOptions } from './endpoints-options.ts'
import { ReplicaEndpoints } from './replica-endpoints.ts'

/**
 * Keeps one EndpointSlice of a Service without a selector true to the replicas that are there, as the endpoint reconcilers of kube-apiserver
 * do for the Service `kubernetes`.
 *
 * The extension starts after servers and stops before them, so clients leave before the server closes. Its start removes an entry that an
 * earlier process left with the same address. It rejects if the Service does not exist, has a selector or other ports, if the slice belongs
 * to somebody else, or if rights are missing. This replica joins when it is ready. While the manager drains, its entry has the conditions
 * of a terminating Pod: `ready: false`, `serving: true`, `terminating: true`.
 *
 * Writes happen only on a difference and name the version of the slice, so that no replica undoes what another one wrote.
 *
 * @throws OptionsError naming the option, its value and what was expected
 *
 * @example
 * ```ts
 * import { endpoints } from '@tenure/kubernetes/endpoints'
 * import { createManager } from 'tenure'
 *
 * const shop = endpoints({ service: 'shop', address: '10.0.0.7', ports: [{ name: 'http', port: 8080 }] })
 * const manager = createManager({ lease: { name: 'shop' } }).use(shop)
 * ```
 */
export function endpoints(options: EndpointsOptions): Endpoints {
  return new ReplicaEndpoints(resolveEndpointsOptions(options, process.env))
}
