import '@tenure/core/supported-node'

// The addresses of a Service without a selector.
export { endpoints, type Endpoints } from './endpoints/endpoints.ts'
export { EndpointsRefusedError } from './endpoints/endpoints-refused-error.ts'
export type { EndpointPortOptions, EndpointsMode, EndpointsOptions } from './endpoints/endpoints-options.ts'
export { MANAGED_BY } from './endpoints/slice-object.ts'
