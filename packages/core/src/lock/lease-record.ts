/**
 * The fields of a lease that electors agree on, exactly as they are stored.
 *
 * The names are those of `coordination.k8s.io/v1` `LeaseSpec`. Times are the raw strings: they are compared as strings to see
 * whether the record changed and never with a clock. A field that another client left out, or filled with something that is
 * not of the field's type, is `undefined`.
 */
export interface LeaseRecord {
  /** Who leads; the empty string when nobody does. */
  readonly holderIdentity: string
  /** How long others must leave the lease alone after they last saw it change. Whole seconds. */
  readonly leaseDurationSeconds: number | undefined
  /** When the holder acquired the lease, by the holder's wall clock. RFC 3339. */
  readonly acquireTime: string | undefined
  /** When the holder last renewed the lease, by the holder's wall clock. RFC 3339. */
  readonly renewTime: string | undefined
  /** How often the lease changed hands. */
  readonly leaseTransitions: number | undefined
  /**
   * Annotations whose key starts with `tenure.dev/`. In a write these replace all stored annotations under that prefix; all
   * others are kept by the lock.
   */
  readonly annotations: Readonly<Record<string, string>>
}

/** The prefix of every annotation that belongs to Tenure. */
export const ANNOTATION_PREFIX = 'tenure.dev/'

/**
 * Formats a wall-clock time as a Kubernetes MicroTime: RFC 3339 in UTC with exactly six fractional digits. The API server
 * refuses any other number of digits.
 */
export function formatMicroTime(epochMs: number): string {
  return new Date(epochMs).toISOString().replace('Z', '000Z')
}
