import { TenureError } from '@tenure/core'

/**
 * Tenure may not write this EndpointSlice: there is no such Service, it has a selector, the slice belongs to
 * somebody else, its ports are not those of the Service, or there is no room for this replica. Nothing was written.
 */
export class EndpointsRefusedError extends TenureError {
  override readonly code = 'ENDPOINTS_REFUSED'
}
