import { TenureError } from '@tenure/core'

/**
 * The Service or the EndpointSlice is not one that Tenure may write: there is no such Service, it has a selector, the slice belongs to
 * somebody else, its ports are not those of the Service, or there is no room for this replica. Nothing was written.
 */
export class EndpointsRefusedError extends TenureError {
  override readonly code = 'ENDPOINTS_REFUSED'
}
