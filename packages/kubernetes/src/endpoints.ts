import '@tenure/core/supported-node'

// The addresses of a Service without a selector.
export { endpoints, MANAGED_BY, type Endpoints } from './endpoints/endpoints.ts'
export type { EndpointPortOptions, EndpointsMode, EndpointsOptions } from './endpoints/endpoints-options.ts'
