import '@tenure/core/supported-node'

// The addresses of a Service without a selector.
export { endpoints } from './endpoints/create-endpoints.ts'
export type { Endpoints } from './endpoints/endpoints.ts'
export type { EndpointsOptions } from './endpoints/endpoints-options.ts'
export { EndpointsRefusedError } from './endpoints/endpoints-refused-error.ts'
